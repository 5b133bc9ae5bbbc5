package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/internal/survey"
	"vzones/config"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// A fleet is what was read, which is not changed.
type fleet struct {
	cfg     *config.Config
	states  []inventory.State
	surveys []survey.Survey
	nodes   []*v1.Node
	placer  *placement.Placer
}

// An edit is what is to be changed, by objects and machines. The vCenter of each reference is the
// first entry of its vCenter.
type edit struct {
	objects map[topology.Ref]*topology.Object
	paths   map[topology.Ref][]topology.Path
	// outside are the machines that leave the configured datacenters.
	outside map[topology.Ref]bool
	// made are the categories that a vCenter has afterwards and does not show now, by vCenter.
	made map[string][]string
	// tagged are the objects with each category that got a tag.
	tagged map[tagged]bool
}

// tagged is a category of an object.
type tagged struct {
	object   topology.Ref
	category string
}

// changed returns the states that a change leads to. Notes are what a person has to know besides.
func (f *fleet) changed(c *change) (states []inventory.State, notes []string, err error) {
	e := &edit{objects: map[topology.Ref]*topology.Object{}, paths: map[topology.Ref][]topology.Path{}, outside: map[topology.Ref]bool{}, made: map[string][]string{}, tagged: map[tagged]bool{}}
	for _, r := range c.tags {
		note, err := f.attach(e, r)
		if err != nil {
			return nil, nil, fmt.Errorf("--tag %s: %w", quote.Value(r.String()), err)
		}
		notes = append(notes, note...)
	}
	for _, m := range c.moves {
		note, err := f.move(e, m)
		if err != nil {
			return nil, nil, fmt.Errorf("--move %s: %w", quote.Value(m.vm+"="+m.host), err)
		}
		notes = append(notes, note...)
	}
	return f.apply(e), notes, nil
}

// first returns a reference by the first entry of its vCenter.
func (f *fleet) first(r topology.Ref) topology.Ref {
	r.VCenter = inventory.FirstEntry(f.states, r.VCenter)
	return r
}

// apply returns copies of the states in which the edited objects and paths are in place of the
// others.
func (f *fleet) apply(e *edit) []inventory.State {
	all := slices.Clone(f.states)
	for i := range all {
		if all[i].Snapshot == nil {
			continue
		}
		s := *all[i].Snapshot
		s.Machines = maps.Clone(s.Machines)
		for id, m := range s.Machines {
			s.Machines[id] = f.edited(e, m)
			if e.outside[f.first(m.Ref)] && !slices.Contains(s.Outside, id) {
				s.Outside = append(slices.Clone(s.Outside), id)
				slices.Sort(s.Outside)
				left := slices.DeleteFunc(slices.Clone(s.Entries(m.UUID)), func(x inventory.Entry) bool { return x.ID == id })
				s.Recent = maps.Clone(s.Recent)
				if s.Recent == nil {
					s.Recent = map[inventory.UUID][]inventory.Entry{}
				}
				s.Recent[m.UUID] = left
			}
		}
		if made := e.made[inventory.FirstEntry(f.states, s.VCenter)]; len(made) > 0 {
			s.InvisibleCategories = slices.DeleteFunc(slices.Clone(s.InvisibleCategories), func(name string) bool { return slices.Contains(made, name) })
		}
		all[i].Snapshot = &s
	}
	return all
}

func (f *fleet) edited(e *edit, m *inventory.Machine) *inventory.Machine {
	paths, moved := e.paths[f.first(m.Ref)]
	if !moved {
		paths = m.Paths
	}
	now := *m
	now.Paths = slices.Clone(paths)
	for i := range now.Paths {
		now.Paths[i].Objects = slices.Clone(now.Paths[i].Objects)
		for j, o := range now.Paths[i].Objects {
			if other := e.objects[f.first(o.Ref)]; other != nil {
				mine := *other
				mine.Ref = o.Ref // by this entry of the vCenter
				now.Paths[i].Objects[j] = &mine
			}
		}
	}
	return &now
}

// split takes the name of a vCenter off what was written before a colon.
func (f *fleet) split(text string) (vcenter, rest string) {
	for _, s := range f.states {
		if after, ok := strings.CutPrefix(text, s.VCenter+":"); ok && len(s.VCenter) > len(vcenter) {
			vcenter, rest = s.VCenter, after
		}
	}
	if vcenter == "" {
		return "", text
	}
	return vcenter, rest
}

// isIn reports whether an entry is of a vCenter, any if that is empty.
func (f *fleet) isIn(entry, vcenter string) bool {
	return vcenter == "" || inventory.FirstEntry(f.states, entry) == inventory.FirstEntry(f.states, vcenter)
}

// all calls visit with each object that was read: those above machines, which have what Nodes are
// placed by, and then those of the surveys. It may come several times.
func (f *fleet) all(visit func(*topology.Object)) {
	for _, s := range f.states {
		if s.Snapshot == nil {
			continue
		}
		for _, m := range s.Snapshot.Machines {
			for i := range m.Paths {
				for _, o := range m.Paths[i].Objects {
					visit(o)
				}
			}
		}
	}
	for i := range f.surveys {
		for _, o := range f.surveys[i].Objects {
			visit(o.Object)
		}
	}
}

// unread says which vCenters may have what was not found, and why the first of them was not read.
func (f *fleet) unread() string {
	var names []string
	why := ""
	for _, s := range f.states {
		if s.Err == nil && s.Snapshot != nil {
			continue
		}
		names = append(names, quote.Value(s.VCenter))
		switch {
		case len(names) > 1:
		case s.Err != nil:
			why = ": " + quote.Text(s.Err.Error())
		default:
			why = ": it has not answered in time: raise --timeout"
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; not read: vCenter " + quote.Some(names, quote.Most) + why
}
