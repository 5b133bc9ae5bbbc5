package vcenter

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
)

// machineProperties are what is read of a Node's machine.
var machineProperties = []string{
	"name", "parent", "parentVApp", "resourcePool", "runtime.host",
	"config.uuid", summaryUUID, "config.guestId", "config.hardware.numCPU", "config.hardware.memoryMB",
	"runtime.powerState", "runtime.connectionState", guestHostName, guestNet,
	// One key alone: others, such as guestinfo.userdata, hold secrets.
	guestMetadata,
}

// upwards selects the ancestors of an object. Its name lets it select itself,
// which is how the property collector walks to the root.
func upwards(name string) *types.TraversalSpec {
	return &types.TraversalSpec{
		SelectionSpec: types.SelectionSpec{Name: name},
		Type:          "ManagedEntity",
		Path:          "parent",
		SelectSet:     []types.BaseSelectionSpec{&types.SelectionSpec{Name: name}},
	}
}

// machineSelection selects everything above a machine on each of its paths.
func machineSelection() []types.BaseSelectionSpec {
	again := func() []types.BaseSelectionSpec {
		return []types.BaseSelectionSpec{&types.SelectionSpec{Name: "up"}}
	}
	return []types.BaseSelectionSpec{
		upwards("up"),
		&types.TraversalSpec{Type: "VirtualMachine", Path: "runtime.host", SelectSet: again()},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "resourcePool", SelectSet: again()},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "parentVApp", SelectSet: again()},
	}
}

func machineRef(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}

// placed turns a tree into machines and their paths. Objects above several
// machines are shared between them.
type placed struct {
	vcenter string
	tree    *tree
	tags    tags.Attachments
	hosts   *hosts
	objects map[types.ManagedObjectReference]*topology.Object
}

func (p *placed) machine(id string) *inventory.Machine {
	ref := machineRef(id)
	read := p.tree.objects[ref]
	if read == nil {
		return nil
	}
	uuid, err := inventory.ParseUUID(read.string("config.uuid"))
	if err != nil {
		return &inventory.Machine{Ref: p.ref(ref), Name: read.string("name"), InventoryPath: quote.Text(p.tree.path(ref))}
	}
	m := &inventory.Machine{
		Ref:           p.ref(ref),
		UUID:          uuid,
		Name:          read.string("name"),
		InventoryPath: quote.Text(p.tree.path(ref)),
		Power:         read.power(),
		CPUs:          read.int32("config.hardware.numCPU"),
		MemoryMB:      read.int32("config.hardware.memoryMB"),
		GuestID:       read.string("config.guestId"),
	}
	m.HostName, _ = read.hostName()
	r, s := read.report(), read.static()
	m.NICs, m.Partial, m.Refused = r.nics, r.partial, r.refused
	m.Static, m.Pending = s.addresses, s.pending()
	if !read.connected() {
		m.Power = inventory.PowerUnknown // what is told is how it was
	}
	for _, start := range p.tree.starts(ref) {
		if start.unset != "" {
			broken := fmt.Errorf("vCenter %q does not tell %s of virtual machine %s: give the account the role Read-only there, or leave the %s path out of topology.paths",
				p.vcenter, start.unset, quote.Name(m.InventoryPath), start.kind)
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
	refs, broken := p.tree.upTo(from)
	path := topology.Path{Kind: kind, Broken: broken}
	for _, ref := range refs {
		path.Objects = append(path.Objects, p.object(ref))
	}
	return path
}

func (p *placed) object(ref types.ManagedObjectReference) *topology.Object {
	if o, ok := p.objects[ref]; ok {
		return o
	}
	o := &topology.Object{
		Ref:  p.ref(ref),
		Name: p.tree.name(ref),
		Path: p.tree.path(ref),
	}
	o.Tags, o.TagsErr = p.tags.Of(ref)
	o.HostGroups, o.FaultDomain = p.hosts.memberships(p.tree, ref)
	p.objects[ref] = o
	return o
}

func (p *placed) ref(ref types.ManagedObjectReference) topology.Ref {
	return topology.Ref{VCenter: p.vcenter, Type: ref.Type, ID: ref.Value}
}
