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

// Diff describes the changes between two configurations in one line with old and new values, but
// never contains passwords or certificates. It is empty only if even warnings and positions are
// equal.
func Diff(before, now *Config) string {
	var all []string
	for i := range now.VCenters {
		v := &now.VCenters[i]
		if old := before.vCenter(v.Name); old == nil {
			all = append(all, fmt.Sprintf("vCenter %q added", v.Name))
		} else if !old.Equal(v) {
			settings := changes(SectionGlobal, "", func(f *Field) (any, any) { return f.Ref(nil, old), f.Ref(nil, v) })
			all = append(all, fmt.Sprintf("vCenter %q changed: %s", v.Name, strings.Join(settings, ", ")))
		}
	}
	for i := range before.VCenters {
		if name := before.VCenters[i].Name; now.vCenter(name) == nil {
			all = append(all, fmt.Sprintf("vCenter %q removed, whose Nodes stay", name))
		}
	}
	ref := func(f *Field) (any, any) { return f.Ref(before, nil), f.Ref(now, nil) }
	all = append(all, changes(SectionTopology, "topology.", ref)...)
	if !reflect.DeepEqual(before.Topology.Policy, now.Topology.Policy) {
		all = append(all, labelChanges(before, now)...)
	}
	all = append(all, changes(SectionNodes, "nodes.", ref)...)
	if len(all) == 0 && !reflect.DeepEqual(before, now) {
		return "nothing that has an effect"
	}
	return strings.Join(all, "; ")
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
func (v *VCenter) Diff(now *VCenter) (effects Effect) {
	for _, f := range FieldsOf(SectionGlobal) {
		if f.Effect&^effects != 0 && !isSame(f.Ref(nil, v), f.Ref(nil, now)) {
			effects |= f.Effect
		}
	}
	return effects
}

// Equal reports whether both have the same name, settings and credentials.
func (v *VCenter) Equal(o *VCenter) bool {
	return v.Name == o.Name && v.Diff(o) == 0
}

// isSame compares the values behind two pointers. Monitors compare often, so the types of a
// vCenter's settings cost no allocation.
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

// changes describes the changed settings of a section. of returns pointers to both values.
func changes(s Section, prefix string, of func(*Field) (before, now any)) (all []string) {
	for _, f := range FieldsOf(s) {
		if f.Ref == nil {
			continue
		}
		before, now := of(f)
		switch {
		case isSame(before, now):
		case f.Kind == KindPassword:
			all = append(all, f.Key)
		case f.Kind == KindPEM:
			all = append(all, "the CA certificates")
		default:
			all = append(all, change(prefix+f.Key, f.shown(before), f.shown(now))...)
		}
	}
	return all
}

func labelChanges(before, now *Config) (all []string) {
	was, order := before.labels()
	is, newOrder := now.labels()
	either := maps.Clone(was)
	maps.Copy(either, is)
	for _, label := range slices.Sorted(maps.Keys(either)) {
		all = append(all, change(label, was[label], is[label])...)
	}
	return append(all, change("the order of labels", list(order), list(newOrder))...)
}

func change(key, before, now string) []string {
	if before == now {
		return nil
	}
	return []string{fmt.Sprintf("%s from %s to %s", key, quote.Name(cmp.Or(before, "none")), quote.Name(cmp.Or(now, "none")))}
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

// labels describes the rule of each label, and lists the labels in the order of the rules.
func (c *Config) labels() (rules map[string]string, order []string) {
	rules = make(map[string]string)
	for _, r := range slices.Concat(c.Topology.Policy.Rules, c.Topology.Policy.Levels) {
		var all []string
		for _, part := range []struct{ what, of string }{
			{"tag ", r.Category}, {"hostGroup ", r.HostGroup}, {"inventory ", string(r.Inventory)}, {"value ", strings.Join(words(r.Value...), "")},
		} {
			if part.of != "" {
				all = append(all, part.what+part.of)
			}
		}
		label := "label " + r.Label
		order = append(order, r.Label)
		rules[label] = strings.Join(all, " ")
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
	all := slices.Clone(texts)
	for i, text := range texts {
		if strings.ContainsAny(text, ", ") {
			all[i] = strconv.Quote(text)
		}
	}
	return strings.Join(all, ",")
}
