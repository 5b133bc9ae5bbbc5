package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"vzones/topology"
)

// Options say how a file is read other than by Parse.
type Options struct {
	// Environ are environment variables, see Read.
	Environ []string
	// SkipFiles leaves the files unread that the configuration names, for where
	// they are not: they are in the daemon's Pod. CA is empty then.
	SkipFiles bool
}

// Parse is the function Parse, with options.
func (o Options) Parse(file string, data []byte) (*Config, error) {
	l, err := load(file, data, o)
	if err != nil {
		return nil, err
	}
	return l.config, nil
}

// loaded is a file without mistakes: what it says and what that means.
type loaded struct {
	config *Config
	schema *schema
	// fleet is what config.VCenters were made of, in the same order.
	fleet []settings
}

// Written is a configuration in another form.
type Written struct {
	// Data has no secrets in it.
	Data []byte
	// Private has: it is for nothing but the place that its owner names. It is
	// empty if there are no secrets to write.
	Private Password
	// Warnings are those of the file that was read.
	Warnings []Warning
	// Notes are those of the file too, of Effective alone.
	Notes []Warning
	// Lost is what that file says and the other form does not, by line.
	Lost []Warning
}

// Effective returns what is in force for a file, in the YAML format: every
// default filled in, passwords as [redacted], and behind each value a comment
// with its source: FILE:LINE and the key, an environment variable or the default.
// It loads again, and means the same but for Written.Lost; with a certificate for a
// user it does not, since the key is a password. A default that would
// have no effect is left out. The CA files are not read. Its errors are those of Parse.
func Effective(file string, data []byte, environ ...string) (*Written, error) {
	l, err := load(file, data, Options{Environ: environ, SkipFiles: true})
	if err != nil {
		return nil, err
	}
	w := yamlWriter{comment: func(at position) string { return source(file, at) }}
	return &Written{
		Data:     w.file(l.effective(), "The effective configuration of "+oneLine(file)+", with the source of each value."),
		Warnings: l.config.Warnings,
		Notes:    l.config.Notes,
		Lost:     l.together(),
	}, nil
}

// inDefault is the line of what nothing sets.
const inDefault = -2

// source says where a value comes from.
func source(file string, at position) string {
	switch at.line {
	case inDefault:
		return "default"
	case inEnvironment:
		return at.path
	}
	return oneLine(fmt.Sprintf("%s:%d: %s", file, at.line, at.path))
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
func shown[T, U any](v T, from value[U]) value[T] {
	if !from.set {
		return value[T]{v: v, at: position{line: inDefault}, set: true}
	}
	return value[T]{v: v, at: from.at, set: true}
}

func shownList[U any](elements []string, from value[U]) list {
	l := list{at: shown(elements, from).at, set: true}
	for _, element := range elements {
		l.v = append(l.v, text{v: element, at: l.at, set: true})
	}
	return l
}

// effective returns a schema that says all of what is in force.
func (l *loaded) effective() *schema {
	c, from := l.config, l.schema
	s := &schema{nodes: from.nodes}
	for i := range c.VCenters {
		s.vcenters = append(s.vcenters, effectiveEntry(&c.VCenters[i], l.fleet[i]))
	}
	if from.global.secretsDirectory.set {
		l.effectiveDirectory(s)
	}
	l.effectiveLabels(s)
	t := &c.Topology
	s.topology.backfill = shown(t.Backfill, from.topology.backfill)
	s.topology.drift = shown(string(t.Drift), from.topology.drift)
	s.topology.settle = shown(t.Settle.String(), from.topology.settle)
	n := &s.nodes
	for _, t := range []*text{
		&n.internalSubnets, &n.externalSubnets, &n.internalNetwork, &n.externalNetwork,
		&n.excludeInternalSubnets, &n.excludeExternalSubnets, &n.selector,
	} {
		*t = shown(t.v, *t)
	}
	n.skipDeletion = shown(c.SkipNodeDeletion, n.skipDeletion)
	n.matchByName = shown(c.MatchByName, n.matchByName)
	n.networks = shownList(c.Addresses.Networks, n.networks)
	n.excludeNetworks = shownList(c.Addresses.ExcludeNetworks, n.excludeNetworks)
	return s
}

func effectiveEntry(vc *VCenter, from settings) *section {
	e := &section{
		name: vc.Name, at: from.at,
		server:      shown(vc.Server, from.server),
		port:        shown(vc.Port, from.port),
		insecure:    shown(vc.Insecure, from.insecure),
		datacenters: shownList(vc.Datacenters, from.datacenters),
		roundTrips:  shown(vc.RoundTrips, from.roundTrips),
		thumbprint:  shown(vc.Thumbprint, from.thumbprint),
		index:       shown(indexWord(vc.Followed), from.index),
		ipFamilies:  shownList(vc.IPFamilies, from.families),
		// There is no default for credentials.
		user: from.user, password: from.password,
	}
	if vc.CAFile == "" && len(vc.CA) > 0 {
		e.caData = shown(string(vc.CA), from.authority)
	} else {
		e.caFile = shown(vc.CAFile, from.authority)
	}
	if from.secret.set {
		e.secretName = shown(vc.Secret.Name, from.secret)
		e.secretNamespace = shown(vc.Secret.Namespace, from.namespace)
	}
	return e
}

// effectiveDirectory shows the directory with credentials in the global section,
// where alone it can be, with the Secret beside it: an entry with a Secret of its
// own has no directory.
func (l *loaded) effectiveDirectory(s *schema) {
	global := &l.schema.global
	s.global.secretsDirectory = global.secretsDirectory
	if !global.secretName.set {
		return
	}
	s.global.secretName, s.global.secretNamespace = global.secretName, global.secretNamespace
	for _, e := range s.vcenters {
		if e.secretName.at == global.secretName.at {
			e.secretName, e.secretNamespace = text{}, text{}
		}
	}
}

// effectiveLabels fills in where labels come from.
func (l *loaded) effectiveLabels(s *schema) {
	from := l.schema
	policy := &l.config.Topology.Policy
	together := 0
	for _, label := range l.labels() {
		if !label.builtIn() {
			label.nested = shown(label.rule.Nested, label.nested)
		}
		s.place(label, label.effective())
	}
	for _, rule := range policy.Rules {
		if rule.Category != "" {
			together++
		}
	}
	// A default that would have no effect would be a warning.
	if together > 1 || from.topology.precedence.set {
		s.topology.precedence = shown(string(policy.Precedence), from.topology.precedence)
	}
	if len(policy.Categories()) > 0 || from.topology.paths.set {
		var words []string
		for _, path := range policy.Paths {
			words = append(words, pathWord(path))
		}
		s.topology.paths = shownList(words, from.topology.paths)
	}
}

// sourceOfLabel is a rule of the policy and the fields that give it.
type sourceOfLabel struct {
	rule topology.Rule
	// key and nested are those of a further label.
	key    text
	nested toggle
	from   rule
	// at is where it is written.
	at position
}

// labels returns the rules of the policy, each with what gives it: region and
// zone first, then the further ones.
func (l *loaded) labels() []sourceOfLabel {
	s, policy := l.schema, l.config.Topology.Policy
	var all []sourceOfLabel
	for _, r := range policy.Rules {
		label := sourceOfLabel{rule: r, from: s.zone}
		switch {
		case s.categories.set:
			at := s.categories.at
			label.key, label.nested = text{v: r.Label, at: at, set: true}, toggle{v: false, at: at, set: true}
			label.from = rule{
				at:       at,
				tag:      text{v: r.Category, at: at, set: true},
				required: toggle{v: true, at: at, set: true},
			}
		case r.Label == topology.LabelRegion:
			label.from = s.region
		}
		label.at = label.from.at
		all = append(all, label)
	}
	for i, r := range policy.Levels {
		given := s.topology.levels[i]
		all = append(all, sourceOfLabel{rule: r, key: given.label, nested: given.nested, from: given.rule, at: given.at})
	}
	return all
}

// builtIn says that the label is region or zone.
func (l *sourceOfLabel) builtIn() bool {
	return l.rule.Label == topology.LabelRegion || l.rule.Label == topology.LabelZone
}

// place puts the rule of a label where the YAML format has it.
func (s *schema) place(label sourceOfLabel, r rule) {
	switch label.rule.Label {
	case topology.LabelRegion:
		s.region = r
	case topology.LabelZone:
		s.zone = r
	default:
		s.topology.levels = append(s.topology.levels, &level{label: label.key, nested: label.nested, rule: r})
	}
}

// effective returns the rule with its default filled in.
func (l *sourceOfLabel) effective() rule {
	r := rule{at: l.from.at, tag: l.from.tag, inventory: l.from.inventory, hostGroup: l.from.hostGroup, value: l.from.value}
	r.required = shown(l.rule.Required, l.from.required)
	return r
}

// together tells of categories that only the CSI driver's file decides together
// with region and zone.
func (l *loaded) together() []Warning {
	further := slices.ContainsFunc(l.config.Topology.Policy.Rules, func(r topology.Rule) bool {
		return r.Label != topology.LabelRegion && r.Label != topology.LabelZone
	})
	if !further {
		return nil
	}
	p := &problems{file: l.config.File}
	p.warnf(l.schema.categories.at, "decides all categories in one walk, which the YAML format has for region and zone alone: "+
		"each further one becomes an element of topology.levels, whose nearest tag decides")
	return p.warnings
}
