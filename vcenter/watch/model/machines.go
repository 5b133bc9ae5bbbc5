package model

import (
	"fmt"
	"net/netip"
	"reflect"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
)

// placed turns a tree into machines and their paths. Objects above several
// machines are shared between them.
type placed struct {
	vcenter string
	tree    *Tree
	tags    tags.Attachments
	hosts   *Memberships
	objects map[types.ManagedObjectReference]*topology.Object
	// paths are those that begin above machines, which share them.
	paths map[types.ManagedObjectReference]topology.Path
	// before is what the last snapshot was made of. What has not changed is taken from it.
	before pictured
}

// pictured are the objects and machines of a snapshot.
type pictured struct {
	objects  map[types.ManagedObjectReference]*topology.Object
	machines map[string]*inventory.Machine
}

// unchanged returns what was before if it is the same as what is now, and what is now otherwise.
func unchanged[T any](before, now *T) *T {
	if before != nil && reflect.DeepEqual(before, now) {
		return before
	}
	return now
}

func (p *placed) machine(id string) *inventory.Machine {
	ref := MachineRef(id)
	read := p.tree.objects[ref]
	if read == nil {
		return nil
	}
	uuid, err := inventory.ParseUUID(read.string("config.uuid"))
	if err != nil {
		return &inventory.Machine{Ref: p.ref(ref), Name: read.string("name"), InventoryPath: quote.Text(p.tree.Path(ref)), WasOff: read.power().IsOff()}
	}
	m := &inventory.Machine{
		Ref:           p.ref(ref),
		UUID:          uuid,
		Name:          read.string("name"),
		HostName:      read.string(GuestHostName),
		InventoryPath: quote.Text(p.tree.Path(ref)),
		Power:         read.power(),
		CPUs:          read.int32("config.hardware.numCPU"),
		MemoryMB:      read.int32("config.hardware.memoryMB"),
		GuestID:       read.string("config.guestId"),
		Secondary:     read.secondary(),
	}
	r, s := read.report(), read.static()
	m.NICs, m.Partial, m.Refused = r.nics, r.partial, r.refused
	if len(r.nics) == 0 && !r.partial && r.refused == nil {
		m.GuestAddress, _ = read[guestAddress].(netip.Addr)
	}
	m.Static, m.Pending = s.addresses, s.pending()
	if !read.connected() {
		// What is reported is how it was.
		m.Power, m.WasOff = inventory.PowerUnknown, m.Power.IsOff()
	}
	for _, start := range p.tree.starts(ref) {
		if start.unset != "" {
			broken := fmt.Errorf("property %s of %s is not set: give the account the role Read-only there, or leave the %s path out of topology.paths",
				start.unset, m.Ref.Located(m.InventoryPath), start.kind)
			m.Paths = append(m.Paths, topology.Path{Kind: start.kind, Broken: broken})
			continue
		}
		m.Paths = append(m.Paths, p.path(start.kind, start.ref))
	}
	for _, path := range m.Paths {
		for _, o := range path.Objects {
			if o.Ref.Type == "Datacenter" {
				m.Datacenter = o.Path
			}
		}
	}
	return m
}

func (p *placed) path(kind topology.PathKind, from types.ManagedObjectReference) topology.Path {
	if path, ok := p.paths[from]; ok {
		path.Kind = kind
		return path
	}
	refs, broken := p.tree.upTo(p.vcenter, from)
	path := topology.Path{Kind: kind, Broken: broken}
	for _, ref := range refs {
		path.Objects = append(path.Objects, p.object(ref))
	}
	if from.Type != "VirtualMachine" { // whose path is its own
		p.paths[from] = path
	}
	return path
}

func (p *placed) object(ref types.ManagedObjectReference) *topology.Object {
	if o, ok := p.objects[ref]; ok {
		return o
	}
	o := &topology.Object{
		Ref:  p.ref(ref),
		Name: p.tree.Name(ref),
		Path: p.tree.Path(ref),
	}
	o.Tags, o.TagsErr = p.tags.Of(ref)
	o.HostGroups, o.FaultDomain = p.hosts.Of(p.tree, ref)
	o = unchanged(p.before.objects[ref], o)
	p.objects[ref] = o
	return o
}

func (p *placed) ref(ref types.ManagedObjectReference) topology.Ref {
	return topology.Ref{VCenter: p.vcenter, Type: ref.Type, ID: ref.Value}
}
