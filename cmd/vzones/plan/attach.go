package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// attach notes the tags of an object in an edit.
func (f *fleet) attach(e *edit, r attachment) (notes []string, err error) {
	policy := &f.cfg.Topology.Policy
	if categories := policy.Categories(); !slices.Contains(categories, r.category) {
		if len(categories) == 0 {
			return nil, fmt.Errorf("no label of the configuration comes from a tag")
		}
		return nil, fmt.Errorf("no label of the configuration comes from category %s, but from %s: correct it, or write the configuration that uses it with --with",
			quote.Value(r.category), quote.Some(quoted(categories), quote.Most))
	}
	if reason := topology.InvalidLabelValue(r.name); r.name != "" && reason != "" && isPlain(policy, r.category) {
		return nil, fmt.Errorf("tag name %s cannot be the value of a label: %s", quote.Value(r.name), reason)
	}
	o, note, err := f.object(r.object)
	if err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	at := f.first(o.Ref)
	this := tagged{at, r.category}
	if e.tagged[this] {
		return nil, fmt.Errorf("%s gets a tag of category %s twice: write one", o, quote.Value(r.category))
	}
	e.tagged[this] = true
	if before := e.objects[at]; before != nil {
		o = before
	}
	if o.TagsErr != nil {
		return nil, fmt.Errorf("the tags of %s cannot be read, so it is not known which it would have: %w", o, o.TagsErr)
	}
	now := *o
	now.Tags = slices.DeleteFunc(slices.Clone(o.Tags), func(t topology.Tag) bool { return t.Category == r.category })
	if r.name != "" {
		now.Tags = append(now.Tags, topology.Tag{Category: r.category, Name: r.name})
		if slices.Contains(inventory.InvisibleByVCenter(f.states)[at.VCenter], r.category) {
			notes = append(notes, fmt.Sprintf("vCenter %q does not have the tag category %s yet, or the account does not see it: make it first", at.VCenter, quote.Value(r.category)))
			e.made[at.VCenter] = append(e.made[at.VCenter], r.category)
		}
	}
	e.objects[at] = &now
	return notes, nil
}

// isPlain reports whether a label has the names of a category's tags as they are.
func isPlain(policy *topology.Policy, category string) bool {
	is := func(r topology.Rule) bool { return r.Category == category && r.Value == nil }
	return slices.ContainsFunc(policy.Rules, is) || slices.ContainsFunc(policy.Levels, is)
}

// object returns the one object of an inventory path.
func (f *fleet) object(text string) (o *topology.Object, note string, err error) {
	vcenter, path := f.split(text)
	path = "/" + strings.TrimPrefix(path, "/")
	found := map[topology.Ref]*topology.Object{}
	above := map[topology.Ref]bool{}
	for _, s := range f.states {
		if s.Snapshot != nil {
			for _, m := range s.Snapshot.Machines {
				for i := range m.Paths {
					for _, o := range m.Paths[i].Objects {
						above[f.first(o.Ref)] = true
					}
				}
			}
		}
	}
	f.all(func(o *topology.Object) {
		if at := f.first(o.Ref); o.Path == path && f.isIn(o.Ref.VCenter, vcenter) && found[at] == nil {
			found[at] = o
		}
	})
	refs := slices.SortedFunc(maps.Keys(found), func(a, b topology.Ref) int { return strings.Compare(a.String(), b.String()) })
	switch len(refs) {
	case 0:
		return nil, "", fmt.Errorf("no vCenter that was read has an object with the inventory path %s: write it as /DATACENTER/host/CLUSTER/HOST, with %%2f for a slash in a name%s", quote.Value(path), f.unread())
	case 1:
		if !above[refs[0]] {
			note = fmt.Sprintf("no Node's machine is below %s", found[refs[0]])
		}
		return found[refs[0]], note, nil
	}
	names := make([]string, len(refs))
	for i, at := range refs {
		names[i] = fmt.Sprintf("%q", at.VCenter)
	}
	if names = slices.Compact(names); len(names) == 1 {
		return nil, "", fmt.Errorf("vCenter %s has several objects with the inventory path %s: rename one of them", names[0], quote.Value(path))
	}
	return nil, "", fmt.Errorf("several vCenters have %s: %s: write VCENTER:OBJECT", quote.Value(path), quote.Some(names, quote.Most))
}

func quoted(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = quote.Value(n)
	}
	return all
}
