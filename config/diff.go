package config

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"vzones/topology"
	"vzones/topology/quote"
)

// A Difference is what differs between two configurations. Its zero value says that nothing
// does.
type Difference struct {
	// Any reports whether anything does: also what has no effect, such as a warning, or where
	// in which file something is written.
	Any bool
	// changes are what has changed in each vCenter and beside them, with old and new values. Of
	// passwords and certificates they say only that they have. What has no effect is not among them.
	changes []string
}

// Diff returns what differs between two configurations.
func Diff(before, now *Config) Difference {
	d := Difference{Any: !reflect.DeepEqual(before, now)}
	was, is := before.byName(), now.byName()
	for i := range now.VCenters {
		v := &now.VCenters[i]
		if old := was[v.Name]; old == nil {
			d.changes = append(d.changes, fmt.Sprintf("vCenter %q added", v.Name))
		} else if !old.Equal(v) {
			d.changes = append(d.changes, fmt.Sprintf("vCenter %q changed: %s", v.Name, strings.Join(v.changes(old), ", ")))
		}
	}
	for i := range before.VCenters {
		if name := before.VCenters[i].Name; is[name] == nil {
			d.changes = append(d.changes, fmt.Sprintf("vCenter %q removed, whose Nodes stay", name))
		}
	}
	d.changes = append(d.changes, now.changes(before)...)
	return d
}

func (c *Config) byName() map[string]*VCenter {
	all := make(map[string]*VCenter, len(c.VCenters))
	for i := range c.VCenters {
		all[c.VCenters[i].Name] = &c.VCenters[i]
	}
	return all
}

// Diff returns what the settings that differ between two configurations of the vCenter make the daemon do.
func (v *VCenter) Diff(now *VCenter) (effects Effect) {
	for i := range Fields {
		if f := &Fields[i]; f.Effect&^effects != 0 && !isSame(f.Ref(nil, v), f.Ref(nil, now)) {
			effects |= f.Effect
		}
	}
	return effects
}

// isSame compares the values that two pointers point to.
func isSame(a, b any) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	if x.Kind() == reflect.Slice && x.Len()+y.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}

// Equal reports whether both are the same vCenter with the same settings and credentials:
// nothing has to be done where one takes the place of the other.
func (v *VCenter) Equal(o *VCenter) bool {
	return v.Name == o.Name && v.Diff(o) == 0
}

// String returns the changes in one line.
func (d Difference) String() string {
	if len(d.changes) == 0 {
		return "nothing that has an effect"
	}
	return strings.Join(d.changes, "; ")
}

// changes returns what has changed, with the old and the new value; of secrets only that they have.
func (v *VCenter) changes(before *VCenter) []string {
	var all []string
	for _, f := range FieldsOf(SectionGlobal) {
		if f.Ref == nil || isSame(f.Ref(nil, before), f.Ref(nil, v)) {
			continue
		}
		switch f.Kind {
		case KindPassword:
			all = append(all, f.Key)
		case KindPEM:
			all = append(all, "the CA certificates")
		default:
			all = append(all, change(f.Key, f.shown(f.Ref(nil, before)), f.shown(f.Ref(nil, v)))...)
		}
	}
	return all
}

// changes returns what has changed beside the vCenters.
func (c *Config) changes(before *Config) []string {
	all := c.changesOf(before, SectionTopology, "topology.")
	was, order := before.labels()
	is, newOrder := c.labels()
	for _, label := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))))) {
		all = append(all, change(label, was[label], is[label])...)
	}
	all = append(all, change("the order of labels", list(order), list(newOrder))...)
	return append(all, c.changesOf(before, SectionNodes, "nodes.")...)
}

func (c *Config) changesOf(before *Config, s Section, prefix string) (all []string) {
	for _, f := range FieldsOf(s) {
		if f.Ref != nil {
			all = append(all, change(prefix+f.Key, f.shown(f.Ref(before, nil)), f.shown(f.Ref(c, nil)))...)
		}
	}
	return all
}

func change(key, before, now string) []string {
	if before == now {
		return nil
	}
	return []string{fmt.Sprintf("%s from %s to %s", key, orNone(before), orNone(now))}
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return quote.Name(value)
}

// shown is a value, given by a pointer, as a person reads it.
func (f *Field) shown(pointer any) string {
	switch v := reflect.ValueOf(pointer).Elem().Interface().(type) {
	case nil:
		return ""
	case string:
		if f.Kind == KindUser && strings.HasPrefix(v, "-----BEGIN") {
			return "a certificate"
		}
		return v
	case []string:
		if f.Kind == KindDatacenters && len(v) == 0 {
			return f.Unset
		}
		return list(v)
	case []netip.Prefix:
		return list(v)
	case []topology.PathKind:
		return list(v)
	case map[string]string:
		var all []string
		for key, value := range v {
			all = append(all, key+"="+value)
		}
		slices.Sort(all)
		return list(all)
	default:
		return fmt.Sprint(v)
	}
}

// labels returns what gives each label its value, and the labels in the order of the rules.
func (c *Config) labels() (sources map[string]string, order []string) {
	sources = make(map[string]string)
	for _, r := range slices.Concat(c.Topology.Policy.Rules, c.Topology.Policy.Levels) {
		of := "label " + r.Label
		order, sources[of] = append(order, r.Label), source(&r)
		if r.Required {
			sources[of+" required"] = "yes"
		}
		if r.Nested {
			sources[of+" nested"] = "yes"
		}
	}
	return sources, order
}

// source is what gives a label its value.
func source(r *topology.Rule) string {
	var of []string
	switch {
	case r.Category != "":
		of = append(of, "tag "+r.Category)
	case r.HostGroup != "":
		of = append(of, "hostGroup "+r.HostGroup)
	case r.Inventory != "":
		of = append(of, "inventory "+string(r.Inventory))
	}
	if r.Value != nil {
		of = append(of, "value "+strings.Join(words(r.Value...), ""))
	}
	return strings.Join(of, " ")
}

// list writes values with commas between them.
func list[T any](values []T) string {
	texts := words(values...)
	for i, text := range texts {
		if strings.ContainsAny(text, ", ") {
			texts[i] = strconv.Quote(text)
		}
	}
	return strings.Join(texts, ",")
}
