package parse

import (
	"slices"
	"strconv"
	"strings"

	"vzones/config/problem"
	"vzones/config/schema"
)

// applyEnvironment puts the values of environment variables in place of the file's. An
// empty one counts as not set, as in the CPI, but for those whose value means
// nothing there.
func applyEnvironment(s *schema.File, environ []string, p *problem.List) {
	environ = withoutServiceLinks(environ, p)
	variables := s.Variables()
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	named := s.NamesVCenters()
	g := &s.Global
	g.Apart = (g.SecretName.Set || g.SecretNamespace.Set) != g.SecretsDirectory.Set
	for _, v := range variables {
		text, given := values[v.Variable]
		if text == "" && (!given || !v.AnyValue()) {
			continue
		}
		from := value{p, schema.Text{V: text, At: problem.Variable(v.Variable), Set: true}, v.AnyValue()}
		switch {
		case !v.Inherited && v.Into != schema.Target(&g.Server):
			v.Into.Take(from)
		case !named: // the CPI reads these when its vCenters have inherited, so that they change no other
			from.replace(s, v)
		case s.MissesAccount(v.Variable):
			v.Into.Take(from) // validation says which vCenters have it
		default:
			s.Unused(p, from.text, v)
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(variables, func(v schema.Field) bool { return v.Variable == name })
		if id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_"); ok && !known && id != "" && value != "" {
			p.Errorf(problem.Variable(name), "is not read: write the vCenter into the file")
		}
	}
}

// value is the value of a variable, as a schema.Source.
type value struct {
	problems *problem.List
	text     schema.Text
	// anyValue reports whether whatever it is means true.
	anyValue bool
}

func (v value) Place() problem.Position { return v.text.At }
func (v value) Problems() *problem.List { return v.problems }
func (v value) Text() schema.Text       { return v.text }
func (v value) Secret() schema.Secret   { return schema.SecretOf(v.text) }
func (v value) Number() schema.Number   { return schema.NumberOf(v.problems, v.text) }
func (v value) List() schema.List       { return schema.Split(v.text) }
func (v value) Asks() bool              { return true }
func (v value) Respelled(string)        {}

func (v value) Toggle() schema.Toggle {
	on, err := strconv.ParseBool(v.text.V)
	if v.anyValue {
		if err != nil || !on {
			v.problems.Warnf(v.text.At, "counts as true, as in the vSphere CPI: any value does")
		}
		return schema.Toggle{V: true, At: v.text.At, Set: true}
	}
	if err != nil {
		v.problems.Errorf(v.text.At, "is neither true nor false: write one of the two")
	}
	return schema.Toggle{V: on, At: v.text.At, Set: true, Bad: err != nil}
}

// replace takes the value for the only vCenter, which the file does not name, and warns of
// it; of VSPHERE_INSECURE=true validation does.
func (v value) replace(s *schema.File, f schema.Field) {
	if wrong := v.unusable(f); wrong != "" {
		v.problems.Warnf(v.text.At, "is ignored, because it is %s, or remove it", wrong)
		return
	}
	words := v.problems.Words
	what := "sets " + words.Key(f.Name)
	if at, before := schema.Given(f.Into); before {
		what = "overrides " + at.Key()
	}
	instead := "it"
	if f.Variable == schema.VariableUser || f.Variable == schema.VariablePassword {
		instead = words.Secret()
	}
	f.Into.Take(v)
	if f.Into == schema.Target(&s.Global.Insecure) && s.Global.Insecure.V {
		return
	}
	v.problems.Warnf(v.text.At, "%s, because the file names no vCenter: write %s %s instead", what, instead, words.Global)
}

// unusable says what is wrong with a value that the CPI passes over, and what to write.
func (v value) unusable(f schema.Field) string {
	n, err := strconv.ParseInt(strings.TrimSpace(v.text.V), 10, 32)
	_, truth := f.Into.(*schema.Toggle)
	switch limits := f.Limits; {
	case limits.What != "" && (err != nil || !limits.Allow(int(n))):
		return "not a " + limits.What + ": write " + limits.String()
	case truth:
		if _, err := strconv.ParseBool(v.text.V); err != nil {
			return "neither true nor false: write one of the two"
		}
	}
	return ""
}

// Variables returns the names of the environment variables that override a file.
func Variables() []string {
	var names []string
	for _, f := range (&schema.File{}).Variables() {
		names = append(names, f.Variable)
	}
	return names
}
