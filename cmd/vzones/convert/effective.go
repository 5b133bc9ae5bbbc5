package convert

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/config/load"
	"vzones/topology"
)

// Effective returns the effective configuration of a file as YAML, with passwords as [redacted] and the
// source of each value as a comment. environ overrides the file as in the daemon. It does not read the
// CA files. Defaults without an effect are left out. The result is a valid configuration with the same
// meaning, apart from Written.Lost and from entries whose user is a certificate: their password is a
// redacted key. The error is a config.Errors.
func Effective(file string, data []byte, environ ...string) (*Written, error) {
	d, err := load.Options{Environ: environ, SkipFiles: true}.Load(file, data)
	if err != nil {
		return nil, err
	}
	l := loaded{d}
	w := writer{comment: func(at load.Position) string { return source(file, at) }}
	return &Written{
		Data:     w.file(l.effective(), "The effective configuration of "+oneLine(file)+", with the source of each value."),
		Warnings: l.Config.Warnings,
		Lost:     l.jointCategoryWarnings(),
	}, nil
}

func source(file string, pos load.Position) string {
	switch pos.Line {
	case load.InDefault:
		return "default"
	case load.InEnvironment:
		return pos.Path
	}
	return oneLine(fmt.Sprintf("%s:%d: %s", file, pos.Line, pos.Path))
}

// oneLine replaces line breaks and control characters, which would end a YAML comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '?'
		}
		return r
	}, s)
}

func effectiveValue(v any, original *load.Value) *load.Value {
	pos := load.Position{Line: load.InDefault}
	if original.Set {
		pos = original.At
	}
	return &load.Value{Data: v, At: pos, Set: true}
}

func (l loaded) effective() *contents {
	c := l.Config
	global := &load.Section{In: config.SectionGlobal}
	s := &contents{global: global, region: new(load.Section), zone: new(load.Section),
		topology: withDefaults(config.SectionTopology, l.Topology), nodes: withDefaults(config.SectionNodes, l.Nodes)}
	for i := range c.VCenters {
		s.vcenters = append(s.vcenters, effectiveEntry(&c.VCenters[i], l.EffectiveVCenters[i]))
	}
	// secretsDirectory is valid only in global. An entry with its own Secret does not use it.
	if l.Global.V("secretsDirectory").Set {
		keys := []string{"secretsDirectory", "secretName", "secretNamespace"}
		for _, key := range keys {
			global.Put(key, l.Global.V(key))
		}
		for i, e := range s.vcenters {
			if l.Global.V("secretName").Set && l.EffectiveVCenters[i].V("secretName") == l.Global.V("secretName") {
				e.Put("secretName", new(load.Value))
				e.Put("secretNamespace", new(load.Value))
			}
		}
	}
	policy := &c.Topology.Policy
	tagRules := 0
	for _, label := range l.labels() {
		s.place(label, label.effective())
	}
	for _, rule := range policy.Rules {
		if rule.Category != "" {
			tagRules++
		}
	}
	// Writing this default explicitly would cause a warning.
	if tagRules <= 1 && !l.Topology.V("precedence").Set {
		s.topology.Put("precedence", new(load.Value))
	}
	if len(policy.Categories()) == 0 && !l.Topology.V("paths").Set {
		s.topology.Put("paths", new(load.Value))
	}
	s.nodes.Put("networks", effectiveValue(c.Addresses.Networks, l.Nodes.V("networks")))
	s.nodes.Put("excludeNetworks", effectiveValue(c.Addresses.ExcludeNetworks, l.Nodes.V("excludeNetworks")))
	s.topology.Put("settle", effectiveValue(c.Topology.Settle.String(), l.Topology.V("settle")))
	return s
}

func withDefaults(section config.Section, original *load.Section) *load.Section {
	s := &load.Section{In: section}
	for _, f := range config.FieldsOf(section) {
		v := original.V(f.Key)
		switch {
		case f.NoEffect != "" || f.Kind == config.KindLevels:
		case v.Set:
			s.Put(f.Key, v)
		case f.Default != nil:
			s.Put(f.Key, effectiveValue(f.Default, v))
		case f.Kind.IsList():
			s.Put(f.Key, effectiveValue([]string{}, v))
		case f.Kind == config.KindLabels:
			s.Put(f.Key, effectiveValue(map[string]string{}, v))
		default:
			s.Put(f.Key, effectiveValue("", v))
		}
	}
	return s
}

func effectiveEntry(vc *config.VCenter, original *load.Section) *load.Section {
	e := &load.Section{Name: vc.Name, In: config.SectionEntry}
	isInline := vc.CAFile == "" && len(vc.CA) > 0
	for _, f := range config.FieldsOf(config.SectionEntry) {
		v := original.V(f.Key)
		switch {
		case f.Ref == nil:
		case f.Kind == config.KindFiles && isInline, f.Kind == config.KindPEM && !isInline:
		case !v.Set && slices.Contains([]string{"user", "password", "secretName", "secretNamespace"}, f.Key): // These keys have no default.
		default:
			e.Put(f.Key, effectiveValue(reflect.ValueOf(f.Ref(nil, vc)).Elem().Interface(), v))
		}
	}
	return e
}

// labelSource is a rule of the policy with its section in the file.
type labelSource struct {
	rule topology.Rule
	// key and nested are set for further levels only.
	key, nested *load.Value
	section     *load.Section
}

func (l loaded) labels() []labelSource {
	var sources []labelSource
	for _, r := range l.Config.Topology.Policy.Rules {
		label := labelSource{rule: r, section: l.Zone}
		switch {
		case l.Categories.Set:
			value := func(v any) *load.Value { return &load.Value{Data: v, At: l.Categories.At, Set: true} }
			label.key = value(r.Label)
			label.nested = value(false)
			label.section = &load.Section{At: l.Categories.At, In: config.SectionRule}
			label.section.Put("tag", value(r.Category))
			label.section.Put("required", value(true))
		case r.Label == topology.LabelRegion:
			label.section = l.Region
		}
		sources = append(sources, label)
	}
	for i, r := range l.Config.Topology.Policy.Levels {
		section := l.Levels[i]
		sources = append(sources, labelSource{rule: r, key: section.V("label"), nested: section.V("nested"), section: section})
	}
	return sources
}

func (l *labelSource) isBuiltIn() bool {
	return l.rule.Label == topology.LabelRegion || l.rule.Label == topology.LabelZone
}

func (l *labelSource) effective() *load.Section {
	r := l.section.Clone()
	r.IsShort = false
	r.Put("required", effectiveValue(l.rule.Required, l.section.V("required")))
	if !l.isBuiltIn() {
		r.Put("label", l.key)
		r.Put("nested", effectiveValue(l.rule.Nested, l.nested))
	}
	return r
}

// jointCategoryWarnings warns of categories that the CSI driver's file format resolves together with
// region and zone, which YAML cannot express.
func (l loaded) jointCategoryWarnings() []config.Warning {
	further := slices.ContainsFunc(l.Config.Topology.Policy.Rules, func(r topology.Rule) bool {
		return r.Label != topology.LabelRegion && r.Label != topology.LabelZone
	})
	if !further {
		return nil
	}
	p := &load.Problems{File: l.Config.File}
	p.Warnf(l.Categories.At, "resolves all categories in one walk, which YAML supports only for region and zone: "+
		"each further category becomes an element of topology.levels, for which the nearest tag decides")
	return p.Warnings
}
