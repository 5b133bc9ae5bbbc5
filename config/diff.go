package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/internal/quote"
)

// Diff describes the changes between two configurations in one line, without passwords and
// certificates. It is empty only if even warnings and positions are equal.
func Diff(prev, next *Config) string {
	var parts []string
	for i := range next.VCenters {
		v := &next.VCenters[i]
		if old := prev.vCenter(v.Name); old == nil {
			parts = append(parts, fmt.Sprintf("vCenter %q added", v.Name))
		} else if !old.Equal(v) {
			settings := changes(SectionGlobal, "", func(f *Field) (any, any) { return f.Ref(nil, old), f.Ref(nil, v) })
			parts = append(parts, fmt.Sprintf("vCenter %q changed: %s", v.Name, strings.Join(settings, ", ")))
		}
	}
	for i := range prev.VCenters {
		if name := prev.VCenters[i].Name; next.vCenter(name) == nil {
			parts = append(parts, fmt.Sprintf("vCenter %q removed (its Nodes remain)", name))
		}
	}
	ref := func(f *Field) (any, any) { return f.Ref(prev, nil), f.Ref(next, nil) }
	parts = append(parts, changes(SectionTopology, "topology.", ref)...)
	if !reflect.DeepEqual(prev.Topology.Policy, next.Topology.Policy) {
		parts = append(parts, labelChanges(prev, next)...)
	}
	parts = append(parts, changes(SectionNodes, "nodes.", ref)...)
	if len(parts) == 0 && !reflect.DeepEqual(prev, next) {
		return "nothing that has an effect"
	}
	return strings.Join(parts, "; ")
}

func (c *Config) vCenter(name string) *VCenter {
	for i := range c.VCenters {
		if c.VCenters[i].Name == name {
			return &c.VCenters[i]
		}
	}
	return nil
}

// Diff returns the effects of the changed settings.
func (v *VCenter) Diff(next *VCenter) (effects Effect) {
	for _, f := range FieldsOf(SectionGlobal) {
		if f.Effect&^effects != 0 && !isSame(f.Ref(nil, v), f.Ref(nil, next)) {
			effects |= f.Effect
		}
	}
	return effects
}

// Equal reports whether both have the same name and settings.
func (v *VCenter) Equal(o *VCenter) bool {
	return v.Name == o.Name && v.Diff(o) == 0
}

// isSame avoids an allocation for the types of a vCenter's settings, which monitors compare often.
func isSame(a, b any) bool {
	switch a := a.(type) {
	case *string:
		return *a == *b.(*string)
	case *int:
		return *a == *b.(*int)
	case *bool:
		return *a == *b.(*bool)
	case *[]string:
		return slices.Equal(*a, *b.(*[]string))
	case *[]byte:
		return bytes.Equal(*a, *b.(*[]byte))
	case *Password:
		return a.Equal(*b.(*Password))
	}
	return reflect.DeepEqual(a, b)
}

func changes(s Section, prefix string, pointers func(*Field) (before, now any)) (all []string) {
	for _, f := range FieldsOf(s) {
		if f.Ref == nil {
			continue
		}
		prev, next := pointers(f)
		switch {
		case isSame(prev, next):
		case f.Kind == KindPassword:
			all = append(all, f.Key)
		case f.Kind == KindPEM:
			all = append(all, "the CA certificates")
		default:
			all = append(all, change(prefix+f.Key, f.shown(prev), f.shown(next))...)
		}
	}
	return all
}

func labelChanges(prev, next *Config) (all []string) {
	prevRules, order := prev.labels()
	nextRules, newOrder := next.labels()
	merged := maps.Clone(prevRules)
	maps.Copy(merged, nextRules)
	for _, label := range slices.Sorted(maps.Keys(merged)) {
		all = append(all, change(label, prevRules[label], nextRules[label])...)
	}
	return append(all, change("the order of labels", list(order), list(newOrder))...)
}

func change(key, prev, next string) []string {
	if prev == next {
		return nil
	}
	return []string{fmt.Sprintf("%s from %s to %s", key, quote.Name(cmp.Or(prev, "none")), quote.Name(cmp.Or(next, "none")))}
}

func (f *Field) shown(pointer any) string {
	v := reflect.ValueOf(pointer).Elem()
	switch {
	case f.Kind == KindUser && strings.HasPrefix(v.String(), "-----BEGIN"):
		return "a certificate"
	case f.Kind == KindDatacenters && v.Len() == 0:
		return f.Unset
	case f.Kind == KindLabels:
		return labels.Set(*pointer.(*map[string]string)).String()
	case v.Kind() == reflect.Interface && v.IsNil():
		return ""
	case v.Kind() == reflect.Slice:
		var texts []string
		for i := range v.Len() {
			texts = append(texts, fmt.Sprint(v.Index(i)))
		}
		return list(texts)
	}
	return fmt.Sprint(v)
}

func (c *Config) labels() (rules map[string]string, order []string) {
	rules = make(map[string]string)
	for _, r := range slices.Concat(c.Topology.Policy.Rules, c.Topology.Policy.Levels) {
		var sources []string
		for _, part := range []struct{ what, of string }{
			{"tag ", r.Category}, {"hostGroup ", r.HostGroup}, {"inventory ", string(r.Inventory)}, {"value ", strings.Join(words(r.Value...), "")},
		} {
			if part.of != "" {
				sources = append(sources, part.what+part.of)
			}
		}
		label := "label " + r.Label
		order = append(order, r.Label)
		rules[label] = strings.Join(sources, " ")
		if r.Required {
			rules[label+" required"] = "yes"
		}
		if r.Nested {
			rules[label+" nested"] = "yes"
		}
	}
	return rules, order
}

func list(texts []string) string {
	quoted := slices.Clone(texts)
	for i, text := range texts {
		if strings.ContainsAny(text, ", ") {
			quoted[i] = strconv.Quote(text)
		}
	}
	return strings.Join(quoted, ",")
}
