package convert

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/config/parse"
	"vzones/config/parse/yaml"
	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/config/validate"
	"vzones/topology"
)

// Effective returns what is in force for a file, in the YAML format: every
// default filled in, passwords as [redacted], and behind each value a comment
// with its source: FILE:LINE and the key, an environment variable or the default.
// It loads again, and means the same but for Written.Lost; with a certificate for a
// user it does not, since the key is a password. A default that would
// have no effect is left out. The CA files are not read. Its errors are those of Parse.
func Effective(file string, data []byte, environ ...string) (*Written, error) {
	l, err := load(file, data, parse.Options{Environ: environ, SkipFiles: true})
	if err != nil {
		return nil, err
	}
	w := yaml.Writer{Comment: func(at problem.Position) string { return source(file, at) }}
	return &Written{
		Data:     w.File(l.effective(), "The effective configuration of "+oneLine(file)+", with the source of each value."),
		Warnings: l.Config.Warnings,
		Notes:    l.Config.Notes,
		Lost:     l.walkedTogether(),
	}, nil
}

// source says where a value comes from.
func source(file string, at problem.Position) string {
	switch at.Line {
	case problem.InDefault:
		return "default"
	case problem.InEnvironment:
		return at.Path
	}
	return oneLine(fmt.Sprintf("%s:%d: %s", file, at.Line, at.Path))
}

// oneLine keeps a comment from ending before its end.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '?'
		}
		return r
	}, s)
}

// shown is a value in force, beside the field that gives it, if one does.
func shown[T, U any](v T, from schema.Value[U]) schema.Value[T] {
	if !from.Set {
		return schema.Value[T]{V: v, At: problem.Position{Line: problem.InDefault}, Set: true}
	}
	return schema.Value[T]{V: v, At: from.At, Set: true}
}

func shownList[U any](elements []string, from schema.Value[U]) schema.List {
	l := schema.List{At: shown(elements, from).At, Set: true}
	for _, element := range elements {
		l.V = append(l.V, schema.Text{V: element, At: l.At, Set: true})
	}
	return l
}

// effective returns a schema that says all of what is in force.
func (l *loaded) effective() *schema.File {
	c, from := l.Config, l.Schema
	s := &schema.File{Nodes: from.Nodes}
	for i := range c.VCenters {
		s.VCenters = append(s.VCenters, effectiveEntry(&c.VCenters[i], l.Fleet[i]))
	}
	if from.Global.SecretsDirectory.Set {
		l.effectiveDirectory(s)
	}
	l.effectiveLabels(s)
	s.Topology.Backfill, s.Topology.Drift = from.Topology.Backfill, from.Topology.Drift
	s.Topology.Settle = shown(c.Topology.Settle.String(), from.Topology.Settle)
	s.Nodes.Networks = shownList(c.Addresses.Networks, from.Nodes.Networks)
	s.Nodes.ExcludeNetworks = shownList(c.Addresses.ExcludeNetworks, from.Nodes.ExcludeNetworks)
	schema.FillIn(s.Fields(), &s.Topology.Precedence, &s.Topology.Paths)
	return s
}

func effectiveEntry(vc *config.VCenter, from validate.Settings) *schema.Section {
	e := &from.Section
	e.Datacenters = shownList(vc.Datacenters, from.DatacenterList)
	e.IPFamilies = shownList(vc.IPFamilies, from.Families)
	e.CAFile, e.CAData = schema.Text{}, schema.Text{}
	given := []schema.Target{&e.User, &e.Password, &e.SecretName, &e.SecretNamespace} // they have no default
	if vc.CAFile == "" && len(vc.CA) > 0 {
		e.CAData = shown(string(vc.CA), from.Authority)
		given = append(given, &e.CAFile)
	} else {
		e.CAFile = shown(vc.CAFile, from.Authority)
		given = append(given, &e.CAData)
	}
	if e.SecretName = (schema.Text{}); from.SecretRef.Set {
		e.SecretName = shown(vc.Secret.Name, from.SecretRef)
		e.SecretNamespace = shown(vc.Secret.Namespace, from.SecretNamespace)
	}
	schema.FillIn(e.Fields(false), given...)
	return e
}

// effectiveDirectory shows the directory with credentials in the global section,
// where alone it can be, with the Secret beside it: an entry with a Secret of its
// own has no directory.
func (l *loaded) effectiveDirectory(s *schema.File) {
	global := &l.Schema.Global
	s.Global.SecretsDirectory = global.SecretsDirectory
	if !global.SecretName.Set {
		return
	}
	s.Global.SecretName, s.Global.SecretNamespace = global.SecretName, global.SecretNamespace
	for _, e := range s.VCenters {
		if e.SecretName.At == global.SecretName.At {
			e.SecretName, e.SecretNamespace = schema.Text{}, schema.Text{}
		}
	}
}

// effectiveLabels fills in where labels come from.
func (l *loaded) effectiveLabels(s *schema.File) {
	from := l.Schema
	policy := &l.Config.Topology.Policy
	together := 0
	for _, label := range l.labels() {
		if !label.builtIn() {
			label.nested = shown(label.rule.Nested, label.nested)
		}
		place(s, label, label.effective())
	}
	for _, rule := range policy.Rules {
		if rule.Category != "" {
			together++
		}
	}
	// A default that would have no effect would be a warning.
	if together > 1 || from.Topology.Precedence.Set {
		s.Topology.Precedence = shown(string(policy.Precedence), from.Topology.Precedence)
	}
	if len(policy.Categories()) > 0 || from.Topology.Paths.Set {
		var words []string
		for _, path := range policy.Paths {
			words = append(words, schema.PathWord(path))
		}
		s.Topology.Paths = shownList(words, from.Topology.Paths)
	}
}

// sourceOfLabel is a rule of the policy and the fields that give it.
type sourceOfLabel struct {
	rule topology.Rule
	// key and nested are those of a further label.
	key    schema.Text
	nested schema.Toggle
	from   schema.Rule
	// at is where it is written.
	at problem.Position
}

// labels returns the rules of the policy, each with what gives it: region and
// zone first, then the further ones.
func (l *loaded) labels() []sourceOfLabel {
	s, policy := l.Schema, l.Config.Topology.Policy
	var all []sourceOfLabel
	for _, r := range policy.Rules {
		label := sourceOfLabel{rule: r, from: s.Zone}
		switch {
		case s.Categories.Set:
			at := s.Categories.At
			label.key, label.nested = schema.Text{V: r.Label, At: at, Set: true}, schema.Toggle{V: false, At: at, Set: true}
			label.from = schema.Rule{
				At:       at,
				Tag:      schema.Text{V: r.Category, At: at, Set: true},
				Required: schema.Toggle{V: true, At: at, Set: true},
			}
		case r.Label == topology.LabelRegion:
			label.from = s.Region
		}
		label.at = label.from.At
		all = append(all, label)
	}
	for i, r := range policy.Levels {
		given := s.Topology.Levels[i]
		all = append(all, sourceOfLabel{rule: r, key: given.Label, nested: given.Nested, from: given.Rule, at: given.At})
	}
	return all
}

// builtIn reports whether the label is region or zone.
func (l *sourceOfLabel) builtIn() bool {
	return l.rule.Label == topology.LabelRegion || l.rule.Label == topology.LabelZone
}

// place puts the rule of a label where the YAML format has it.
func place(s *schema.File, label sourceOfLabel, r schema.Rule) {
	switch label.rule.Label {
	case topology.LabelRegion:
		s.Region = r
	case topology.LabelZone:
		s.Zone = r
	default:
		s.Topology.Levels = append(s.Topology.Levels, &schema.Level{Label: label.key, Nested: label.nested, Rule: r})
	}
}

// effective returns the rule with its default filled in.
func (l *sourceOfLabel) effective() schema.Rule {
	r := schema.Rule{At: l.from.At, Tag: l.from.Tag, Inventory: l.from.Inventory, HostGroup: l.from.HostGroup, Value: l.from.Value}
	r.Required = shown(l.rule.Required, l.from.Required)
	return r
}

// walkedTogether warns of categories that only the CSI driver's file decides together
// with region and zone.
func (l *loaded) walkedTogether() []config.Warning {
	further := slices.ContainsFunc(l.Config.Topology.Policy.Rules, func(r topology.Rule) bool {
		return r.Label != topology.LabelRegion && r.Label != topology.LabelZone
	})
	if !further {
		return nil
	}
	p := &problem.List{File: l.Config.File}
	p.Warnf(l.Schema.Categories.At, "decides all categories in one walk, which the YAML format has for region and zone alone: "+
		"each further one becomes an element of topology.levels, whose nearest tag decides")
	return p.Warnings
}
