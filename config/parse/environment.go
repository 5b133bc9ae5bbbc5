package parse

import (
	"slices"
	"strconv"
	"strings"

	"vzones/config"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
)

// applyEnvironment puts the values of environment variables in place of the file's. An
// empty one counts as not set, as in the CPI, but for those whose value means
// nothing there.
func applyEnvironment(s *schema.File, environ []string, p *problem.List) {
	environ = withoutServiceLinks(environ, p)
	fields := s.Variables()
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	named := s.NamesVCenters()
	g := &s.Global
	g.Apart = (g.SecretName.Set || g.SecretNamespace.Set) != g.SecretsDirectory.Set
	for _, f := range fields {
		value, given := values[f.Name]
		if _, always := f.Into.(schema.Presence); value == "" && (!given || !always) {
			continue
		}
		t := schema.Text{V: value, At: problem.Variable(f.Name), Set: true}
		switch {
		case schema.Inherited[f.Name] == "":
			set(p, t, f.Into)
		case !named:
			replace(s, p, t, f)
		case s.LacksAccount(f.Name):
			set(p, t, f.Into) // see checker.borrowed
		default:
			schema.Unused(p, t, f.Name, s.Global.CredentialsSource())
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(fields, func(f schema.Field) bool { return f.Name == name })
		if id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_"); ok && !known && id != "" && value != "" {
			p.Errorf(problem.Variable(name), "is not read: write the vCenter into the file")
		}
	}
}

// replace takes the value of a variable for the only vCenter, which the file does not
// name, and tells of it; of VSPHERE_INSECURE=true checker.unverified does.
func replace(s *schema.File, p *problem.List, t schema.Text, f schema.Field) {
	if wrong := unusable(f.Name, t.V); wrong != "" {
		p.Warnf(t.At, "is ignored, because it is %s, or remove it", wrong)
		return
	}
	what := "sets " + p.Words.Key(schema.Inherited[f.Name])
	at, before := schema.Given(f.Into)
	if f.Name == schema.VariablePassword {
		at, before = s.Global.Password.At, s.Global.Password.Set
	}
	if before {
		what = "overrides " + at.Key()
	}
	instead := "it"
	if f.Name == schema.VariableUser || f.Name == schema.VariablePassword {
		instead = p.Words.Secret()
	}
	set(p, t, f.Into)
	if f.Into == &s.Global.Insecure && s.Global.Insecure.V {
		return
	}
	p.Warnf(t.At, "%s, because the file names no vCenter: write %s %s instead", what, instead, p.Words.Global)
}

// unusable says what is wrong with a value that the CPI passes over, and what to write.
func unusable(name, value string) string {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	switch name {
	case "VSPHERE_VCENTER_PORT":
		if err != nil || n < 1 || n > 65535 {
			return "not a port: write a number from 1 to 65535"
		}
	case "VSPHERE_ROUNDTRIP_COUNT":
		if err != nil || n < 1 {
			return "not a count: write a number, at least 1"
		}
	case "VSPHERE_INSECURE":
		if _, err := strconv.ParseBool(value); err != nil {
			return "neither true nor false: write one of the two"
		}
	}
	return ""
}

func set(p *problem.List, t schema.Text, into any) {
	switch into := into.(type) {
	case *schema.Text:
		*into = t
	case *schema.Secret:
		*into = schema.Secret{V: config.NewPassword(t.V), At: t.At, Set: true, Mute: true}
	case *schema.Number:
		*into = schema.NumberOf(p, t)
	case *schema.Toggle:
		on, err := strconv.ParseBool(t.V)
		if err != nil {
			p.Errorf(t.At, "is neither true nor false: write one of the two")
		}
		*into = schema.Toggle{V: on, At: t.At, Set: true, Bad: err != nil}
	case schema.Presence:
		if on, err := strconv.ParseBool(t.V); err != nil || !on {
			p.Warnf(t.At, "counts as true, as in the vSphere CPI: any value does")
		}
		*into.Toggle = schema.Toggle{V: true, At: t.At, Set: true}
	case *schema.List:
		*into = schema.Split(t)
	case *schema.Rule:
		*into = schema.Rule{At: t.At, Tag: t, Short: true}
	case schema.Ignored:
		p.Warnf(t.At, "%s", string(into))
	}
}
