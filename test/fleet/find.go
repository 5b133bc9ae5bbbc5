package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// VM is a snapshot of a VM.
type VM struct {
	VCenter string
	Name    string
	MoID    string // for example vm-42
	UUID    string // BIOS UUID, lower case; "" while the configuration cannot be read
	// InstanceUUID identifies the VM within a vCenter; clones do not share it.
	InstanceUUID string
	HostName     string // "" without VMware Tools
	IPs          []string
	Datacenter   string
	Cluster      string // "" on a standalone host
	Host         string
	Pool         string // "Resources" for a root pool
	Path         string // inventory path with the VM's folders
	PoweredOn    bool
	Template     bool
}

// ProviderID returns the provider ID of the VM's Node.
func (m VM) ProviderID() string { return "vsphere://" + m.UUID }

// SwappedUUID returns the UUID with the first three fields in the other byte order, as some
// guests report it.
func (m VM) SwappedUUID() string {
	u := m.UUID
	if len(u) != 36 {
		return u
	}
	return u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
}

// Reference returns the managed object reference of the VM.
func (m VM) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: m.MoID}
}

// VMs returns the VMs in the order of the description, without fillers.
func (v *VCenter) VMs() []VM {
	v.world.RLock()
	defer v.world.RUnlock()
	vms := make([]VM, 0, len(v.inv.vms))
	for _, m := range v.inv.vms {
		vms = append(vms, v.inv.describe(m))
	}
	return vms
}

// VM returns the VM with the given name.
func (v *VCenter) VM(name string) (VM, error) {
	v.world.RLock()
	defer v.world.RUnlock()
	m, err := v.inv.vmNamed(name)
	if err != nil {
		return VM{}, err
	}
	return v.inv.describe(m), nil
}

func (b *inventory) describe(m *simVM) VM {
	vm := m.vm
	d := VM{
		VCenter: b.v.name, Name: vm.Name, MoID: vm.Self.Value, UUID: vm.Config.Uuid, InstanceUUID: vm.Config.InstanceUuid, HostName: vm.Guest.HostName,
		Path: b.path(vm), PoweredOn: vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn,
		Template: vm.Config.Template,
	}
	for _, nic := range vm.Guest.Net {
		d.IPs = append(d.IPs, nic.IpAddress...)
	}
	host := b.entity(*vm.Summary.Runtime.Host)
	d.Host = host.Entity().Name
	if parent := b.entity(*host.Entity().Parent); parent.Reference().Type == "ClusterComputeResource" {
		d.Cluster = parent.Entity().Name
	}
	d.Pool = b.entity(*vm.ResourcePool).Entity().Name
	d.Datacenter = b.datacenterOf(host).Entity().Name
	return d
}

// Reference returns the object at an inventory path ("/" for the root folder,
// "/dc1/host/c1/Resources/p" for a pool) or with a unique name.
func (v *VCenter) Reference(object string) (types.ManagedObjectReference, error) {
	v.world.RLock()
	defer v.world.RUnlock()
	e, err := v.inv.find(object)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return e.Reference(), nil
}

// Objects returns the sorted inventory paths of all datacenters, clusters, hosts and VMs.
func (v *VCenter) Objects() []string {
	v.world.RLock()
	defer v.world.RUnlock()
	var paths []string
	for _, refs := range v.inv.names {
		for _, ref := range refs {
			switch ref.Type {
			case "Datacenter", "ClusterComputeResource", "HostSystem", "VirtualMachine":
				paths = append(paths, v.inv.path(v.inv.entity(ref)))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// find returns an object by path or unique name. Kinds, if any, restrict its type.
func (b *inventory) find(object string, kinds ...string) (mo.Entity, error) {
	refs := b.names[object]
	if strings.HasPrefix(object, "/") {
		refs = nil
		req := &types.FindByInventoryPath{InventoryPath: object}
		res := b.reg.SearchIndex().FindByInventoryPath(b.ctx, req).(*methods.FindByInventoryPathBody).Res
		if res != nil && res.Returnval != nil {
			refs = append(refs, *res.Returnval)
		}
	}
	var found []mo.Entity
	for _, ref := range refs {
		if len(kinds) == 0 || slices.Contains(kinds, ref.Type) {
			found = append(found, b.entity(ref))
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("fleet: vCenter %q has no object %q", b.v.name, object)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("fleet: vCenter %q has %d objects named %q; give the path of one", b.v.name, len(found), object)
}

func (b *inventory) vmNamed(name string) (*simVM, error) {
	e, err := b.find(name, "VirtualMachine")
	if err != nil {
		return nil, err
	}
	for _, m := range b.vms {
		if m.vm.Self == e.Reference() {
			return m, nil
		}
	}
	return nil, fmt.Errorf("fleet: vCenter %q: %q is a filler", b.v.name, name)
}

// entity returns an object, even if it is hidden.
func (b *inventory) entity(ref types.ManagedObjectReference) mo.Entity {
	if e, ok := b.hidden[ref]; ok {
		return e
	}
	return b.reg.Get(ref).(mo.Entity)
}

func (b *inventory) datacenterOf(e mo.Entity) mo.Entity {
	for e.Reference().Type != "Datacenter" {
		e = b.parentOf(e)
	}
	return e
}

func (b *inventory) path(e mo.Entity) string {
	path := ""
	for above := b.parentOf(e); above != nil; above = b.parentOf(e) {
		path = "/" + e.Entity().Name + path
		e = above
	}
	return path
}
