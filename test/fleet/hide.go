package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A hiding is one call of Hide: the named object, and the hidden objects, parents first.
type hiding struct {
	top     mo.Entity
	objects []mo.Entity
}

// Hide removes the account's permissions on a datacenter, folder, cluster or VM and on everything
// below it. The objects disappear from views, searches and traversals; a request that names one
// fails with NoPermission, instead of ManagedObjectNotFound for a nonexistent object. VMs are
// hidden with their folders and not with their hosts, because in vCenter permissions on either
// suffice.
//
// Hidden objects continue to exist and may be changed, but must not be moved.
func (v *VCenter) Hide(object string) error {
	v.world.Lock()
	defer v.world.Unlock()
	b := v.inv
	top, err := b.find(object)
	if err != nil {
		return err
	}
	parent := top.Entity().Parent
	if parent == nil || parent.Type != "Folder" || b.hidden[top.Reference()] != nil {
		return fmt.Errorf("fleet: vCenter %q: %q cannot be hidden", v.name, object)
	}
	hide := &hiding{top: top, objects: b.below(top)}
	b.hidings[object] = hide
	simulator.RemoveReference(&b.folderOf(*parent).ChildEntity, top.Reference())
	for _, e := range slices.Backward(hide.objects) {
		b.leaveHost(e)
		b.reg.Remove(b.ctx, e.Reference())
		b.hidden[e.Reference()] = e
	}
	return nil
}

// Show restores the permissions that Hide removed for the same path or name.
func (v *VCenter) Show(object string) error {
	v.world.Lock()
	defer v.world.Unlock()
	b := v.inv
	hide := b.hidings[object]
	if hide == nil {
		return fmt.Errorf("fleet: vCenter %q: %q is not hidden", v.name, object)
	}
	delete(b.hidings, object)
	for _, e := range hide.objects {
		ref := e.Reference()
		if b.hidden[ref] == nil {
			// The VM was destroyed while it was hidden.
			continue
		}
		delete(b.hidden, ref)
		if e == hide.top {
			above := b.folderOf(*e.Entity().Parent)
			above.ChildEntity = append(above.ChildEntity, ref)
		}
		if vm, ok := e.(*mo.VirtualMachine); ok {
			host := b.entity(*vm.Summary.Runtime.Host).(*simulator.HostSystem)
			pool := b.vmsIn(*vm.ResourcePool)
			host.Vm = append(host.Vm, ref)
			*pool = append(*pool, ref)
		}
		b.reg.Put(e)
	}
	return nil
}

// leaveHost removes a VM from the lists of its host and pool, which may remain visible.
func (b *inventory) leaveHost(e mo.Entity) {
	vm, ok := e.(*mo.VirtualMachine)
	if !ok {
		return
	}
	simulator.RemoveReference(&b.entity(*vm.Summary.Runtime.Host).(*simulator.HostSystem).Vm, vm.Self)
	simulator.RemoveReference(b.vmsIn(*vm.ResourcePool), vm.Self)
}

// below returns an object and all visible objects below it, parents first.
func (b *inventory) below(top mo.Entity) []mo.Entity {
	depth := func(e mo.Entity) (n int) {
		for ; e.Reference() != top.Reference(); n++ {
			e = b.parentOf(e)
		}
		return n
	}
	objects := b.reg.All("")
	objects = slices.DeleteFunc(objects, func(e mo.Entity) bool { return !b.contains(top.Reference(), e) })
	slices.SortFunc(objects, func(x, y mo.Entity) int {
		i := x.Reference().Value
		j := y.Reference().Value
		return cmp.Or(cmp.Compare(depth(x), depth(y)), cmp.Compare(len(i), len(j)), strings.Compare(i, j))
	})
	return objects
}

func (v *VCenter) forbidden(m *simulator.Method) *types.ManagedObjectReference {
	if v.inv == nil || len(v.inv.hidden) == 0 {
		return nil
	}
	named := []types.ManagedObjectReference{m.This}
	if body, ok := m.Body.(*types.CreateContainerView); ok {
		named = append(named, body.Container)
	}
	for _, spec := range filterSpecs(m) {
		for _, o := range spec.ObjectSet {
			named = append(named, o.Obj)
		}
	}
	for _, ref := range named {
		if v.inv.hidden[ref] != nil {
			return &ref
		}
	}
	return nil
}

func filterSpecs(m *simulator.Method) []types.PropertyFilterSpec {
	switch body := m.Body.(type) {
	case *types.RetrieveProperties:
		return body.SpecSet
	case *types.RetrievePropertiesEx:
		return body.SpecSet
	case *types.CreateFilter:
		return []types.PropertyFilterSpec{body.Spec}
	}
	return nil
}
