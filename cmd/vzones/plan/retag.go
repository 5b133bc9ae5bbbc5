package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// retag replaces an object's tags of a category with one tag, or with none if name is empty.
type retag struct{ object, category, name string }

func (r retag) String() string { return r.object + "=" + r.category + ":" + r.name }

// parseTags parses OBJECT=CATEGORY:NAME. Label values contain neither "=" nor ":", so it splits at the
// last of each.
func parseTags(texts []string) ([]retag, error) {
	var retags []retag
	for _, text := range texts {
		r := retag{}
		equals := strings.LastIndex(text, "=")
		colon := strings.LastIndex(text, ":")
		if equals <= 0 || colon <= equals+1 {
			return nil, fmt.Errorf("--tag %s: the format is OBJECT=CATEGORY:NAME, such as /dc1/host/c1=zone:a", quote.Value(text))
		}
		r.object = text[:equals]
		r.category = text[equals+1 : colon]
		r.name = text[colon+1:]
		if slices.ContainsFunc(retags, func(o retag) bool { return o.object == r.object && o.category == r.category }) {
			return nil, fmt.Errorf("--tag: object %s is given two tags of category %s: use one", quote.Value(r.object), quote.Value(r.category))
		}
		retags = append(retags, r)
	}
	return retags, nil
}

// edit applies tags to copies of states. If a vCenter has several entries in the configuration, the
// references name the first.
type edit struct {
	states  []inventory.State
	policy  *topology.Policy
	objects map[topology.Ref]*topology.Object
	// made are the invisible categories of new tags, by vCenter.
	made map[string][]string
	// tagged are the objects that already have a new tag, with its category.
	tagged map[taggedObject]bool
}

type taggedObject struct {
	object   topology.Ref
	category string
}

// retagged returns the states with the tags applied.
func retagged(states []inventory.State, policy *topology.Policy, tags []retag) (_ []inventory.State, notes []string, err error) {
	e := &edit{states: states, policy: policy, objects: map[topology.Ref]*topology.Object{}, made: map[string][]string{}, tagged: map[taggedObject]bool{}}
	for _, r := range tags {
		note, err := e.attach(r)
		if err != nil {
			return nil, nil, fmt.Errorf("--tag %s: %w", quote.Value(r.String()), err)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return e.apply(), notes, nil
}

func (e *edit) attach(r retag) (note string, err error) {
	policy := e.policy
	if categories := policy.Categories(); !slices.Contains(categories, r.category) {
		if len(categories) == 0 {
			return "", fmt.Errorf("the configuration has no label from tags")
		}
		return "", fmt.Errorf("the configuration does not use category %s, only %s: correct the category, or use --with with a configuration that uses it",
			quote.Value(r.category), quote.Some(world.Quoted(categories), quote.Most))
	}
	if reason := topology.InvalidLabelValue(r.name); r.name != "" && reason != "" && isPlain(policy, r.category) {
		return "", fmt.Errorf("tag name %s is not a valid label value: %s", quote.Value(r.name), reason)
	}
	o, err := e.object(r.object)
	if err != nil {
		return "", err
	}
	ref := e.first(o.Ref)
	key := taggedObject{ref, r.category}
	if e.tagged[key] {
		return "", fmt.Errorf("%s is given two tags of category %s: use one", o, quote.Value(r.category))
	}
	e.tagged[key] = true
	if earlier := e.objects[ref]; earlier != nil {
		o = earlier
	}
	if o.TagsErr != nil {
		return "", fmt.Errorf("the tags of %s cannot be read, so the result is unknown: %w", o, o.TagsErr)
	}
	changed := *o
	changed.Tags = slices.DeleteFunc(slices.Clone(o.Tags), func(t topology.Tag) bool { return t.Category == r.category })
	if r.name != "" {
		changed.Tags = append(changed.Tags, topology.Tag{Category: r.category, Name: r.name})
		if slices.Contains(inventory.InvisibleByVCenter(e.states)[ref.VCenter], r.category) {
			note = fmt.Sprintf("vCenter %q has no tag category %s yet, or the account cannot see it: create it first", ref.VCenter, quote.Value(r.category))
			e.made[ref.VCenter] = append(e.made[ref.VCenter], r.category)
		}
	}
	e.objects[ref] = &changed
	return note, nil
}

// isPlain reports whether a label takes the tag names of a category unchanged.
func isPlain(policy *topology.Policy, category string) bool {
	matches := func(r topology.Rule) bool { return r.Category == category && r.Value == nil }
	return slices.ContainsFunc(policy.Rules, matches) || slices.ContainsFunc(policy.Levels, matches)
}

// visitObjects calls visit for each object above a VM, possibly several times.
func (e *edit) visitObjects(visit func(*topology.Object)) {
	for _, s := range e.states {
		if s.Snapshot == nil {
			continue
		}
		for _, m := range s.Snapshot.VMs {
			for i := range m.Paths {
				for _, o := range m.Paths[i].Objects {
					visit(o)
				}
			}
		}
	}
}

// object returns the object with an inventory path, which must be unique and above a Node's VM.
func (e *edit) object(text string) (*topology.Object, error) {
	vcenter, path := e.split(text)
	path = "/" + strings.TrimPrefix(path, "/")
	found := map[topology.Ref]*topology.Object{}
	e.visitObjects(func(o *topology.Object) {
		isIn := vcenter == "" || e.first(o.Ref).VCenter == inventory.FirstEntry(e.states, vcenter)
		if ref := e.first(o.Ref); o.Path == path && isIn && found[ref] == nil {
			found[ref] = o
		}
	})
	refs := slices.SortedFunc(maps.Keys(found), func(a, b topology.Ref) int { return strings.Compare(a.String(), b.String()) })
	switch len(refs) {
	case 0:
		return nil, fmt.Errorf("no Node's VM is below an object with the inventory path %s, so its tags change nothing: "+
			"check the path, such as /DATACENTER/host/CLUSTER/HOST, with %%2f for a slash in a name%s", quote.Value(path), e.unread())
	case 1:
		return found[refs[0]], nil
	}
	names := make([]string, len(refs))
	for i, at := range refs {
		names[i] = fmt.Sprintf("%q", at.VCenter)
	}
	if names = slices.Compact(names); len(names) == 1 {
		return nil, fmt.Errorf("vCenter %s has several objects with the inventory path %s: rename one of them", names[0], quote.Value(path))
	}
	return nil, fmt.Errorf("several vCenters have %s: %s: use VCENTER:OBJECT", quote.Value(path), quote.Some(names, quote.Most))
}

// first normalizes the vCenter of a reference to its first entry.
func (e *edit) first(r topology.Ref) topology.Ref {
	r.VCenter = inventory.FirstEntry(e.states, r.VCenter)
	return r
}

func (e *edit) apply() []inventory.State {
	states := slices.Clone(e.states)
	for i := range states {
		if states[i].Snapshot == nil {
			continue
		}
		s := *states[i].Snapshot
		s.VMs = maps.Clone(s.VMs)
		for id, m := range s.VMs {
			s.VMs[id] = e.edited(m)
		}
		if made := e.made[inventory.FirstEntry(e.states, s.VCenter)]; len(made) > 0 {
			s.InvisibleCategories = slices.DeleteFunc(slices.Clone(s.InvisibleCategories), func(name string) bool { return slices.Contains(made, name) })
		}
		states[i].Snapshot = &s
	}
	return states
}

func (e *edit) edited(m *inventory.VM) *inventory.VM {
	clone := *m
	clone.Paths = slices.Clone(m.Paths)
	for i := range clone.Paths {
		clone.Paths[i].Objects = slices.Clone(clone.Paths[i].Objects)
		for j, o := range clone.Paths[i].Objects {
			if edited := e.objects[e.first(o.Ref)]; edited != nil {
				mine := *edited
				// The reference keeps the name of its own entry.
				mine.Ref = o.Ref
				clone.Paths[i].Objects[j] = &mine
			}
		}
	}
	return &clone
}

// split splits VCENTER:OBJECT. The vCenter is empty if no configured name matches.
func (e *edit) split(text string) (vcenter, rest string) {
	for _, s := range e.states {
		if after, ok := strings.CutPrefix(text, s.VCenter+":"); ok && len(s.VCenter) > len(vcenter) {
			vcenter = s.VCenter
			rest = after
		}
	}
	if vcenter == "" {
		return "", text
	}
	return vcenter, rest
}

func (e *edit) unread() string {
	var names []string
	why := ""
	for _, s := range e.states {
		if s.Err != nil {
			names = append(names, quote.Value(s.VCenter))
			why = cmp.Or(why, quote.Text(s.Err.Error()))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; not read: vCenter " + quote.Some(names, quote.Most) + ": " + why
}
