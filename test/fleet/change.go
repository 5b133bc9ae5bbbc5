package fleet

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Property collectors that wait for changes see them, except for changes of the VM lists of
// hosts and pools and of the host lists of clusters.

type changes []types.PropertyChange

func (c *changes) set(name string, val any) {
	*c = append(*c, types.PropertyChange{Name: name, Val: val})
}

// apply applies changes to a VM that is not in the registry yet.
func (m *simVM) apply(c changes) { mo.ApplyPropertyChange(m.vm, c) }

func (b *inventory) update(obj mo.Reference, c changes) {
	b.reg.WithLock(b.ctx, obj, func() { b.reg.Update(b.ctx, obj, c) })
}

// errInVApp returns an error if the VM is in a vApp: moves out of a vApp are not supported.
func (v *VCenter) errInVApp(m *simVM) error {
	if m.vm.Parent != nil {
		return nil
	}
	return fmt.Errorf("fleet: vCenter %q: %q is in a vApp", v.name, m.vm.Name)
}

// change runs f on a VM with the inventory locked.
func (v *VCenter) change(vm string, f func(*inventory, *simVM) error) error {
	v.world.Lock()
	defer v.world.Unlock()
	m, err := v.inv.vmNamed(vm)
	if err != nil {
		return err
	}
	return f(v.inv, m)
}

// MoveVM moves a VM to a host, as vMotion does; its managed object ID stays. In another cluster
// the VM joins the root pool, in another datacenter the VM folder.
func (v *VCenter) MoveVM(vm, host string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		e, err := b.find(host, "HostSystem")
		if err != nil {
			return err
		}
		oldHost := b.entity(*m.vm.Summary.Runtime.Host).(*simulator.HostSystem)
		newHost := e.(*simulator.HostSystem)
		if m.vm.Parent == nil && *oldHost.Parent != *newHost.Parent {
			return fmt.Errorf("fleet: vCenter %q: %q is in a vApp, which belongs to one cluster", v.name, vm)
		}
		var c changes
		c.set("runtime.host", newHost.Self)
		c.set("summary.runtime.host", newHost.Self)
		simulator.RemoveReference(&oldHost.Vm, m.vm.Self)
		newHost.Vm = append(newHost.Vm, m.vm.Self)
		if *oldHost.Parent != *newHost.Parent {
			c = append(c, b.toPool(m, b.rootPool(*newHost.Parent))...)
		}
		if dc := b.datacenterOf(newHost).(*simulator.Datacenter); dc.Self != b.datacenterOf(m.vm).Reference() {
			c = append(c, b.toFolder(m, b.folderOf(dc.VmFolder))...)
		}
		b.update(m.vm, c)
		b.updateViews(m.vm)
		return nil
	})
}

// UnassignHost makes the vCenter omit the host of a VM.
func (v *VCenter) UnassignHost(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		var c changes
		c.set("runtime.host", nil)
		b.update(m.vm, c)
		return nil
	})
}

// MoveHost moves a host with its VMs to another cluster of its datacenter. The VMs join the
// cluster's root pool.
func (v *VCenter) MoveHost(host, cluster string) error {
	v.world.Lock()
	defer v.world.Unlock()
	b := v.inv
	e, err := b.find(host, "HostSystem")
	if err != nil {
		return err
	}
	c, err := b.find(cluster, "ClusterComputeResource")
	if err != nil {
		return err
	}
	h := e.(*simulator.HostSystem)
	newCluster := c.(*simulator.ClusterComputeResource)
	oldCluster, ok := b.entity(*h.Parent).(*simulator.ClusterComputeResource)
	if !ok || b.datacenterOf(oldCluster) != b.datacenterOf(newCluster) {
		return fmt.Errorf("fleet: vCenter %q: host %q is in no cluster of the datacenter of %q", v.name, host, cluster)
	}
	simulator.RemoveReference(&oldCluster.Host, h.Self)
	oldCluster.Host = slices.Clip(oldCluster.Host)
	newCluster.Host = slices.Clip(append(newCluster.Host, h.Self))
	b.moveCompute(h, oldCluster.Self, newCluster.Self)
	if b.ungroup(oldCluster, h) {
		b.notifyGroups(oldCluster)
	}
	b.update(h, changes{{Name: "parent", Val: newCluster.Self}})
	for _, m := range b.vms {
		if *m.vm.Summary.Runtime.Host == h.Self && m.vm.Parent != nil {
			b.update(m.vm, b.toPool(m, b.rootPool(newCluster.Self)))
		}
	}
	return nil
}

// Rename renames an object. Its managed object ID and its tags stay.
func (v *VCenter) Rename(object, name string) error {
	v.world.Lock()
	defer v.world.Unlock()
	b := v.inv
	e, err := b.find(object)
	if err != nil {
		return err
	}
	if name == "" || e.Entity().Parent == nil {
		return fmt.Errorf("fleet: vCenter %q: renaming %q to %q is not possible", v.name, object, name)
	}
	b.forget(e)
	var c changes
	c.set("name", name)
	if _, ok := e.(*mo.VirtualMachine); ok {
		c.set("config.name", name)
		c.set("summary.config.name", name)
	}
	b.update(e, c)
	b.name(e)
	return nil
}

// Destroy deletes a VM.
func (v *VCenter) Destroy(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.remove(m.vm)
		if m.secondary != nil {
			b.remove(m.secondary)
		}
		b.vms = slices.DeleteFunc(b.vms, func(o *simVM) bool { return o == m })
		return nil
	})
}

// Create creates a VM, or Count of them, in a datacenter. A VM created again under its old name
// has its old UUID unless vm sets another.
func (v *VCenter) Create(datacenter string, vm VMSpec) error {
	v.world.Lock()
	defer v.world.Unlock()
	b := v.inv
	dc, ok := b.dcs[datacenter]
	if !ok {
		return fmt.Errorf("fleet: vCenter %q has no datacenter %q", v.name, datacenter)
	}
	var c checker
	taken := c.unique("vms")
	for _, m := range b.vms {
		taken(m.vm.Name)
	}
	c.errs = nil
	for _, name := range vm.names() {
		taken(name)
	}
	c.vm(&vm)
	if len(c.errs) > 0 {
		return fmt.Errorf("fleet: vCenter %q: %w", v.name, c.errs[0])
	}
	return b.vmsOf(dc, &vm)
}

func (b *inventory) toPool(m *simVM, pool *simulator.ResourcePool) changes {
	simulator.RemoveReference(b.vmsIn(*m.vm.ResourcePool), m.vm.Self)
	pool.Vm = append(pool.Vm, m.vm.Self)
	return changes{{Name: "resourcePool", Val: pool.Self}}
}

func (b *inventory) toFolder(m *simVM, folder *simulator.Folder) changes {
	simulator.RemoveReference(&b.folderOf(*m.vm.Parent).ChildEntity, m.vm.Self)
	folder.ChildEntity = append(folder.ChildEntity, m.vm.Self)
	return changes{{Name: "parent", Val: folder.Self}}
}

func (b *inventory) forget(e mo.Entity) {
	name := e.Entity().Name
	ref := e.Reference()
	b.names[name] = slices.DeleteFunc(b.names[name], func(r types.ManagedObjectReference) bool { return r == ref })
}

func (b *inventory) rootPool(owner types.ManagedObjectReference) *simulator.ResourcePool {
	var ref *types.ManagedObjectReference
	switch o := b.entity(owner).(type) {
	case *simulator.ClusterComputeResource:
		ref = o.ResourcePool
	case *mo.ComputeResource:
		ref = o.ResourcePool
	}
	return b.entity(*ref).(*simulator.ResourcePool)
}

// moveCompute keeps the places for new VMs in step with a moved host.
func (b *inventory) moveCompute(h *simulator.HostSystem, from, to types.ManagedObjectReference) {
	for _, dc := range b.order {
		for _, c := range dc.compute {
			switch c.root.Owner {
			case from:
				c.hosts = slices.DeleteFunc(c.hosts, func(o *simulator.HostSystem) bool { return o == h })
			case to:
				c.hosts = append(c.hosts, h)
			}
		}
	}
}
