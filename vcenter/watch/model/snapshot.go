package model

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
)

// A View is the part of a snapshot that does not come from the model.
type View struct {
	// VMs are the managed object IDs of the VMs with details.
	VMs []string
	// Outside are the VMs in no configured datacenter, AnnotatedOnly those known only from annotations.
	Outside, AnnotatedOnly []string
	Names                  map[string][]inventory.NameEntry
	Incomplete             error
	Hosts                  HostFacts
}

// Snapshot returns an immutable snapshot, which shares unchanged VMs with the previous one.
func (m *Model) Snapshot(v View) *inventory.Snapshot {
	m.refreshByUUID()
	snap := &inventory.Snapshot{
		VCenter:             m.vcenter,
		Instance:            m.vcenterUUID,
		ReadAt:              time.Now(),
		Incomplete:          v.Incomplete,
		Index:               m.byUUID,
		Recent:              m.recent,
		Unreadable:          m.sharedWithoutUUID(),
		Names:               v.Names,
		InvisibleCategories: m.tags.Absent,
		VisibleCategories:   m.tags.Present,
		Recorded:            maps.Clone(m.namedByNodes),
		VMs:                 make(map[string]*inventory.VM, len(v.VMs)),
	}
	p := snapshotBuilder{
		vcenter: m.vcenter, tree: m.Tree, tags: m.tags, hosts: &Memberships{Facts: v.Hosts},
		objects: map[types.ManagedObjectReference]*topology.Object{}, paths: map[types.ManagedObjectReference]topology.Path{},
		previous: m.lastSnapshot,
	}
	for _, id := range v.VMs {
		if vm := p.vm(id); vm != nil {
			m.keepRole(id, vm)
			snap.VMs[id] = unchanged(m.lastSnapshot.vms[id], vm)
		}
	}
	m.lastSnapshot = previousSnapshot{p.objects, snap.VMs}
	for _, ref := range m.tags.NotPermitted() {
		snap.NotPermitted = append(snap.NotPermitted, p.ref(ref))
	}
	for _, id := range v.Outside {
		if snap.VMs[id] != nil {
			snap.Outside = append(snap.Outside, id)
		}
	}
	for _, id := range v.AnnotatedOnly {
		if snap.VMs[id] != nil {
			snap.Recorded[id] = inventory.Entry{ID: id}
		}
	}
	return snap
}

// keepRole keeps the Fault Tolerance role while the configuration cannot be read.
func (m *Model) keepRole(id string, vm *inventory.VM) {
	e, indexed := m.index[id]
	switch {
	case vm.UUID.IsZero():
		vm.Secondary = e.secondary
	case indexed && e.secondary != vm.Secondary:
		e.secondary = vm.Secondary
		m.index[id] = e
	}
}

type snapshotBuilder struct {
	vcenter  string
	tree     *Tree
	tags     tags.Attachments
	hosts    *Memberships
	objects  map[types.ManagedObjectReference]*topology.Object
	paths    map[types.ManagedObjectReference]topology.Path
	previous previousSnapshot
}

type previousSnapshot struct {
	objects map[types.ManagedObjectReference]*topology.Object
	vms     map[string]*inventory.VM
}

func unchanged[T any](previous, current *T) *T {
	if previous != nil && reflect.DeepEqual(previous, current) {
		return previous
	}
	return current
}

func (p *snapshotBuilder) vm(id string) *inventory.VM {
	ref := VMRef(id)
	read := p.tree.objects[ref]
	if read == nil {
		return nil
	}
	uuid, err := inventory.ParseUUID(read.string("config.uuid"))
	if err != nil {
		return &inventory.VM{Ref: p.ref(ref), Name: read.string("name"), InventoryPath: quote.Text(p.tree.Path(ref)), WasOff: read.power().IsOff()}
	}
	m := &inventory.VM{
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
	// A missing instance UUID only means less evidence that a moved VM is the same.
	m.InstanceUUID, _ = inventory.ParseUUID(read.string("config.instanceUuid"))
	r := read.guestNetwork()
	m.NICs = r.nics
	m.Partial = r.partial
	m.NICsError = r.ignored
	if len(r.nics) == 0 && !r.partial && r.ignored == nil {
		m.GuestAddress, _ = read[guestAddress].(netip.Addr)
	}
	m.Static, _ = read[GuestMetadata].([]netip.Addr)
	if !read.connected() {
		// The reported state is from before the disconnection.
		m.WasOff = m.Power.IsOff()
		m.Power = inventory.PowerUnknown
	}
	for _, start := range p.tree.pathStarts(ref) {
		if start.unsetProperty != "" {
			broken := fmt.Errorf("property %s of %s is not set: give the account the role Read-only there, or remove the %s path from topology.paths",
				start.unsetProperty, m.Ref.Located(m.InventoryPath), start.kind)
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

func (p *snapshotBuilder) path(kind topology.PathKind, from types.ManagedObjectReference) topology.Path {
	if path, ok := p.paths[from]; ok {
		path.Kind = kind
		return path
	}
	refs, broken := p.tree.pathToRoot(p.vcenter, from)
	path := topology.Path{Kind: kind, Broken: broken}
	for _, ref := range refs {
		path.Objects = append(path.Objects, p.object(ref))
	}
	if from.Type != "VirtualMachine" {
		p.paths[from] = path
	}
	return path
}

func (p *snapshotBuilder) object(ref types.ManagedObjectReference) *topology.Object {
	if o, ok := p.objects[ref]; ok {
		return o
	}
	o := &topology.Object{
		Ref:  p.ref(ref),
		Name: p.tree.Name(ref),
		Path: p.tree.Path(ref),
	}
	o.Tags, o.TagsErr = p.tags.TagsOf(ref)
	o.HostGroups, o.FaultDomain = p.hosts.Of(p.tree, ref)
	o = unchanged(p.previous.objects[ref], o)
	p.objects[ref] = o
	return o
}

func (p *snapshotBuilder) ref(ref types.ManagedObjectReference) topology.Ref {
	return topology.Ref{VCenter: p.vcenter, Type: ref.Type, ID: ref.Value}
}
