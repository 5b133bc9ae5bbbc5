package fleet

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func (b *inventory) group(cluster *simulator.ClusterComputeResource, name string) *types.ClusterHostGroup {
	config := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	for _, g := range config.Group {
		if g, ok := g.(*types.ClusterHostGroup); ok && g.Name == name {
			return g
		}
	}
	g := &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name, UserCreated: types.NewBool(true)}}
	config.Group = append(config.Group, g)
	return g
}

func vsanConfig(faultDomain string) *types.VsanHostConfigInfo {
	return &types.VsanHostConfigInfo{Enabled: types.NewBool(true), FaultDomainInfo: &types.VsanHostFaultDomainInfo{Name: faultDomain}}
}

// notifyGroups reports a cluster's groups to property collectors. The simulator resolves only the
// properties of the declared type of a cluster's configuration, which has no groups. So the
// update reports configurationEx twice, and then the second entry is replaced by the groups:
// collectors keep the slice and read it only while the inventory is locked against changes.
func (b *inventory) notifyGroups(cluster *simulator.ClusterComputeResource) {
	config := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	whole := *config
	whole.Group = nil
	for _, g := range config.Group {
		hosts, ok := g.(*types.ClusterHostGroup)
		if !ok {
			whole.Group = append(whole.Group, g)
			continue
		}
		copied := *hosts
		copied.Host = slices.Clone(hosts.Host)
		whole.Group = append(whole.Group, &copied)
	}
	var c changes
	c.set("configurationEx", &whole)
	c.set("configurationEx", &whole)
	b.update(cluster, c)
	c[1].Name = "configurationEx.group"
	c[1].Val = &types.ArrayOfClusterGroupInfo{ClusterGroupInfo: whole.Group}
}

func (b *inventory) notifyFaultDomain(h *simulator.HostSystem) {
	if vsan := h.Config.VsanHostConfig; vsan != nil {
		b.update(h, changes{{Name: faultDomainPath, Val: vsan.FaultDomainInfo.Name}})
	}
}

const faultDomainPath = "config.vsanHostConfig.faultDomainInfo.name"

func (v *VCenter) onHost(name string, f func(*inventory, *simulator.HostSystem, *simulator.ClusterComputeResource) error) error {
	v.world.Lock()
	defer v.world.Unlock()
	e, err := v.inv.find(name, "HostSystem")
	if err != nil {
		return err
	}
	h := e.(*simulator.HostSystem)
	cluster, ok := v.inv.entity(*h.Parent).(*simulator.ClusterComputeResource)
	if !ok {
		return fmt.Errorf("fleet: vCenter %q: host %q is in no cluster", v.name, name)
	}
	return f(v.inv, h, cluster)
}

// AddToGroup adds a host to a DRS host group of its cluster and creates a missing group.
func (v *VCenter) AddToGroup(host, group string) error {
	return v.onHost(host, func(b *inventory, h *simulator.HostSystem, cluster *simulator.ClusterComputeResource) error {
		g := b.group(cluster, group)
		if !slices.Contains(g.Host, h.Self) {
			g.Host = append(g.Host, h.Self)
		}
		b.notifyGroups(cluster)
		return nil
	})
}

// RemoveGroup deletes a DRS host group of a host's cluster.
func (v *VCenter) RemoveGroup(host, group string) error {
	return v.onHost(host, func(b *inventory, _ *simulator.HostSystem, cluster *simulator.ClusterComputeResource) error {
		old := b.group(cluster, group)
		config := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		config.Group = slices.DeleteFunc(config.Group, func(g types.BaseClusterGroupInfo) bool { return g == types.BaseClusterGroupInfo(old) })
		b.notifyGroups(cluster)
		return nil
	})
}

// TakeFromGroup removes a host from a DRS host group of its cluster.
func (v *VCenter) TakeFromGroup(host, group string) error {
	return v.onHost(host, func(b *inventory, h *simulator.HostSystem, cluster *simulator.ClusterComputeResource) error {
		g := b.group(cluster, group)
		if !slices.Contains(g.Host, h.Self) {
			return fmt.Errorf("fleet: vCenter %q: host %q is not in group %q", v.name, host, group)
		}
		g.Host = slices.DeleteFunc(g.Host, func(ref types.ManagedObjectReference) bool { return ref == h.Self })
		b.notifyGroups(cluster)
		return nil
	})
}

// RegroupHost moves a host from all its DRS host groups to the given group in one change.
func (v *VCenter) RegroupHost(host, group string) error {
	return v.onHost(host, func(b *inventory, h *simulator.HostSystem, cluster *simulator.ClusterComputeResource) error {
		b.ungroup(cluster, h)
		g := b.group(cluster, group)
		g.Host = append(g.Host, h.Self)
		b.notifyGroups(cluster)
		return nil
	})
}

func (b *inventory) ungroup(cluster *simulator.ClusterComputeResource, h *simulator.HostSystem) (was bool) {
	for _, g := range cluster.ConfigurationEx.(*types.ClusterConfigInfoEx).Group {
		if g, ok := g.(*types.ClusterHostGroup); ok {
			was = was || slices.Contains(g.Host, h.Self)
			g.Host = slices.DeleteFunc(g.Host, func(ref types.ManagedObjectReference) bool { return ref == h.Self })
		}
	}
	return was
}

// SetFaultDomain sets the vSAN fault domain of a host, "" for none.
func (v *VCenter) SetFaultDomain(host, domain string) error {
	return v.onHost(host, func(b *inventory, h *simulator.HostSystem, _ *simulator.ClusterComputeResource) error {
		b.update(h, changes{{Name: faultDomainPath, Val: domain}})
		return nil
	})
}

// RemoveHost removes a host without VMs from the inventory.
func (v *VCenter) RemoveHost(host string) error {
	return v.onHost(host, func(b *inventory, h *simulator.HostSystem, cluster *simulator.ClusterComputeResource) error {
		if len(h.Vm) > 0 {
			return fmt.Errorf("fleet: vCenter %q: host %q has VMs", v.name, host)
		}
		b.ungroup(cluster, h)
		simulator.RemoveReference(&cluster.Host, h.Self)
		b.reg.Remove(b.ctx, h.Self)
		return nil
	})
}

// LoseHost makes a host stop responding: the vCenter reports its VMs as disconnected, without a
// power state.
func (v *VCenter) LoseHost(host string) error {
	return v.reach(host, types.HostSystemConnectionStateNotResponding, "disconnected")
}

// RestoreHost makes a host respond again, with the VMs that are still on it.
func (v *VCenter) RestoreHost(host string) error {
	return v.reach(host, types.HostSystemConnectionStateConnected, "connected")
}

func (v *VCenter) reach(host string, state types.HostSystemConnectionState, vms string) error {
	return v.onHost(host, func(b *inventory, h *simulator.HostSystem, _ *simulator.ClusterComputeResource) error {
		b.update(h, changes{{Name: "runtime.connectionState", Val: state}})
		for _, m := range b.vms {
			if *m.vm.Runtime.Host == h.Self {
				b.setConnection(m, vms)
			}
		}
		return nil
	})
}

// RestartVM restarts a VM on another host, as vSphere HA does.
func (v *VCenter) RestartVM(vm, host string) error {
	if err := v.MoveVM(vm, host); err != nil {
		return err
	}
	return v.SetConnection(vm, "connected")
}
