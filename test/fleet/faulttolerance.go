package fleet

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Protect creates a Fault Tolerance secondary of a VM on a host of its cluster. As in vCenter, it
// is a separate, powered-on VM with the name and the BIOS UUID of the primary; only config.ftInfo
// differs. VMs omits it, and changes of the primary do not reach it.
func (v *VCenter) Protect(vm, host string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		if m.secondary != nil {
			return fmt.Errorf("fleet: vCenter %q: %q has a secondary already", v.name, vm)
		}
		e, err := b.find(host, "HostSystem")
		if err != nil {
			return err
		}
		h := e.(*simulator.HostSystem)
		if *h.Parent != *b.entity(*m.vm.Runtime.Host).Entity().Parent {
			return fmt.Errorf("fleet: vCenter %q: host %q is in another cluster than %q", v.name, host, vm)
		}
		if err := v.errInVApp(m); err != nil {
			return err
		}
		config := *m.vm.Config
		second := &mo.VirtualMachine{Guest: m.vm.Guest, Summary: m.vm.Summary, Runtime: m.vm.Runtime}
		second.Self.Type = "VirtualMachine"
		second.Name = m.vm.Name
		second.Config = &config
		pair := types.FaultToleranceConfigInfo{Role: 2, InstanceUuids: []string{config.InstanceUuid}}
		config.FtInfo = &types.FaultToleranceSecondaryConfigInfo{FaultToleranceConfigInfo: pair, PrimaryVM: m.vm.Self}
		b.putVM(b.folderOf(*m.vm.Parent), h, b.entity(*m.vm.ResourcePool), second)
		m.secondary = second
		pair.Role = 1
		b.update(m.vm, changes{{Name: "config.ftInfo", Val: &types.FaultTolerancePrimaryConfigInfo{
			FaultToleranceConfigInfo: pair, Secondaries: []types.ManagedObjectReference{second.Self},
		}}})
		return nil
	})
}

// LosePrimary fails the host of a protected VM: the primary leaves the inventory, and the
// secondary stays secondary until FailOver.
func (v *VCenter) LosePrimary(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		if m.secondary == nil {
			return fmt.Errorf("fleet: vCenter %q: %q has no secondary", v.name, vm)
		}
		b.remove(m.vm)
		m.vm = m.secondary
		m.secondary = nil
		b.name(m.vm)
		return nil
	})
}

// FailOver promotes the secondary that is left after LosePrimary.
func (v *VCenter) FailOver(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		second, ok := m.vm.Config.FtInfo.(*types.FaultToleranceSecondaryConfigInfo)
		if !ok {
			return fmt.Errorf("fleet: vCenter %q: %q is not a secondary", v.name, vm)
		}
		pair := second.FaultToleranceConfigInfo
		pair.Role = 1
		b.update(m.vm, changes{{Name: "config.ftInfo", Val: &types.FaultTolerancePrimaryConfigInfo{FaultToleranceConfigInfo: pair}}})
		return nil
	})
}

func (b *inventory) remove(vm *mo.VirtualMachine) {
	host := b.entity(*vm.Runtime.Host).(*simulator.HostSystem)
	simulator.RemoveReference(&host.Vm, vm.Self)
	simulator.RemoveReference(b.vmsIn(*vm.ResourcePool), vm.Self)
	if vm.Parent != nil {
		simulator.RemoveReference(&b.folderOf(*vm.Parent).ChildEntity, vm.Self)
	}
	b.forget(vm)
	b.v.watchedViews.recordDestroyed(vm.Self)
	b.reg.Remove(b.ctx, vm.Self)
	delete(b.hidden, vm.Self)
}
