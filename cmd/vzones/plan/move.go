package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vzones/cmd/vzones/internal/survey"
	"vzones/config"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// move notes the paths of a machine on another host in an edit.
func (f *fleet) move(e *edit, mv move) (notes []string, err error) {
	m, err := f.machine(mv.vm)
	if err != nil {
		return nil, err
	}
	host, err := f.host(m.Ref.VCenter, mv.host)
	if err != nil {
		return nil, err
	}
	up := host.Up()
	for i, o := range up.Objects {
		up.Objects[i] = f.asPlaced(o)
	}
	var paths []topology.Path
	for _, p := range m.Paths {
		switch p.Kind {
		case topology.ComputePath:
			p = up
		case topology.PoolPath:
			p = f.poolPath(p, up)
		case topology.FolderPath:
			p = f.folderPath(p, up)
		}
		paths = append(paths, p)
	}
	at := f.first(m.Ref)
	if e.paths[at] != nil {
		return nil, fmt.Errorf("%s is moved twice: write one host", m.Ref.Located(m.InventoryPath))
	}
	e.paths[at] = paths
	if f.leaves(m, up) {
		e.outside[at] = true
		notes = append(notes, fmt.Sprintf("%s is in none of the configured datacenters then", m.Ref.Located(m.InventoryPath)))
	}
	return notes, nil
}

// machine returns the machine of a Node, by its name, its path or its Node.
func (f *fleet) machine(text string) (*inventory.Machine, error) {
	vcenter, name := f.split(text)
	found := map[topology.Ref]*inventory.Machine{}
	for _, s := range f.states {
		if s.Snapshot == nil || !f.isIn(s.VCenter, vcenter) {
			continue
		}
		for _, m := range s.Snapshot.Machines {
			if at := f.first(m.Ref); found[at] == nil && (m.Name == name || strings.Contains(name, "/") && m.InventoryPath == "/"+strings.TrimPrefix(name, "/")) {
				found[at] = m
			}
		}
	}
	for _, n := range f.nodes {
		if n.Name != name {
			continue
		}
		if place := f.placer.Decide(n); place.Machine != nil {
			if m := place.Machine; f.isIn(m.Ref.VCenter, vcenter) {
				found = map[topology.Ref]*inventory.Machine{m.Ref: m} // the Node itself
			}
		}
	}
	refs := slices.SortedFunc(maps.Keys(found), func(a, b topology.Ref) int { return strings.Compare(a.String(), b.String()) })
	switch len(refs) {
	case 0:
		return nil, fmt.Errorf("no Node has a machine %s: write its name, inventory path or Node%s", quote.Value(name), f.unread())
	case 1:
		return found[refs[0]], nil
	}
	names := make([]string, len(refs))
	for i, at := range refs {
		names[i] = at.Located(found[at].InventoryPath)
	}
	return nil, fmt.Errorf("several machines are called %s: %s: write VCENTER:VM, or the inventory path", quote.Value(name), quote.Some(names, quote.Most))
}

const typeHost = "HostSystem"

// host returns the host of a name or path in a vCenter.
func (f *fleet) host(vcenter, text string) (*survey.Object, error) {
	prefix, name := f.split(text)
	var found, elsewhere []*survey.Object
	for i := range f.surveys {
		s := &f.surveys[i]
		if s.Err != nil && s.VCenter == vcenter {
			return nil, fmt.Errorf("the hosts of vCenter %q cannot be read: %w", vcenter, s.Err)
		}
		for _, o := range s.Objects {
			isIt := o.Ref.Type == typeHost && (o.Name == name || strings.Contains(name, "/") && o.Path == "/"+strings.TrimPrefix(name, "/"))
			switch {
			case !isIt || !f.isIn(s.VCenter, prefix):
			case s.VCenter == vcenter:
				found = append(found, o)
			case !f.isIn(s.VCenter, vcenter):
				elsewhere = append(elsewhere, o)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		names := make([]string, len(found))
		for i, o := range found {
			names[i] = quote.Value(o.Path)
		}
		return nil, fmt.Errorf("vCenter %q has several hosts %s: %s: write the inventory path", vcenter, quote.Value(name), quote.Some(names, quote.Most))
	case len(elsewhere) > 0:
		return nil, fmt.Errorf("%s is of another vCenter than the machine, which is in vCenter %q: a move between vCenters makes another machine of it, and is not planned", elsewhere[0], vcenter)
	}
	return nil, fmt.Errorf("vCenter %q has no host %s: write its name as vSphere shows it, or its inventory path", vcenter, quote.Value(name))
}

// asPlaced returns an object as the placement of other machines has it, if there is one, with the
// host groups and the fault domain that were read for them.
func (f *fleet) asPlaced(o *topology.Object) *topology.Object {
	for _, s := range f.states {
		if s.Snapshot == nil || s.VCenter != o.Ref.VCenter {
			continue
		}
		for _, m := range s.Snapshot.Machines {
			for i := range m.Paths {
				for _, other := range m.Paths[i].Objects {
					if other.Ref == o.Ref {
						return other
					}
				}
			}
		}
	}
	return o
}

// poolPath returns the way up by the resource pool: the same within a cluster, and else by the root
// pool of the other one.
func (f *fleet) poolPath(p, up topology.Path) topology.Path {
	if len(up.Objects) < 2 {
		return topology.Path{Kind: p.Kind, Broken: up.Broken}
	}
	cluster := up.Objects[1]
	if contains(p.Objects, cluster) {
		return p
	}
	pool := f.rightBelow(topology.PoolPath, cluster, "ResourcePool", "Resources")
	return topology.Path{Kind: p.Kind, Objects: append([]*topology.Object{pool}, up.Objects[1:]...), Broken: up.Broken}
}

// folderPath returns the way up by the VM folder: the same within a datacenter, and else by the VM
// folder of the other one.
func (f *fleet) folderPath(p, up topology.Path) topology.Path {
	i := slices.IndexFunc(up.Objects, func(o *topology.Object) bool { return o.Ref.Type == "Datacenter" })
	if i < 0 {
		return topology.Path{Kind: p.Kind, Objects: slices.Clone(p.Objects[:min(1, len(p.Objects))]), Broken: up.Broken}
	}
	if contains(p.Objects, up.Objects[i]) {
		return p
	}
	folder := f.rightBelow(topology.FolderPath, up.Objects[i], "Folder", "vm")
	objects := append(slices.Clone(p.Objects[:min(1, len(p.Objects))]), folder)
	return topology.Path{Kind: p.Kind, Objects: append(objects, up.Objects[i:]...), Broken: up.Broken}
}

func contains(all []*topology.Object, o *topology.Object) bool {
	return slices.ContainsFunc(all, func(other *topology.Object) bool { return other.Ref == o.Ref })
}

// rightBelow returns what vSphere makes itself below a cluster or datacenter, as the path of another
// machine or the survey has it. If neither has, its tags are not known.
func (f *fleet) rightBelow(kind topology.PathKind, above *topology.Object, is, name string) *topology.Object {
	for _, s := range f.states {
		if s.Snapshot == nil || s.VCenter != above.Ref.VCenter {
			continue
		}
		for _, m := range s.Snapshot.Machines {
			for _, p := range m.Paths {
				i := slices.IndexFunc(p.Objects, func(o *topology.Object) bool { return o.Ref == above.Ref })
				if p.Kind == kind && i > 0 && p.Objects[i-1].Ref.Type == is {
					return p.Objects[i-1]
				}
			}
		}
	}
	for i := range f.surveys {
		for _, o := range f.surveys[i].Objects {
			if o.Parent != nil && o.Parent.Ref == above.Ref && o.Ref.Type == is && o.Name == name {
				return o.Object
			}
		}
	}
	return &topology.Object{
		Ref: topology.Ref{VCenter: above.Ref.VCenter, Type: is, ID: name + " of " + above.Ref.ID}, Name: name, Path: above.Path + "/" + name,
		TagsErr: topology.Errorf(topology.ErrUnknown, "the account does not see the object"),
	}
}

// leaves reports whether a machine is in none of the configured datacenters on the way up.
func (f *fleet) leaves(m *inventory.Machine, up topology.Path) bool {
	i := slices.IndexFunc(f.cfg.VCenters, func(v config.VCenter) bool { return v.Name == m.Ref.VCenter })
	if i < 0 || len(f.cfg.VCenters[i].Datacenters) == 0 {
		return false
	}
	for _, o := range up.Objects {
		if o.Ref.Type == "Datacenter" {
			in, _ := config.MatchDatacenters(f.cfg.VCenters[i].Datacenters, []config.Datacenter{{ID: o.Ref.ID, Name: o.Name, Path: o.Path}})
			return len(in) == 0
		}
	}
	return false
}
