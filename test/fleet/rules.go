package fleet

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// rules makes the DRS rules of all clusters, once there are machines.
func (b *inventory) rules() error {
	for _, dc := range b.order {
		for i := range dc.spec.Clusters {
			spec := &dc.spec.Clusters[i]
			c := dc.cluster(spec.Name)
			cluster := b.entity(c.root.Owner).(*simulator.ClusterComputeResource)
			for j := range spec.Rules {
				if err := b.rule(c, cluster, &spec.Rules[j], int32(j+1)); err != nil {
					return fmt.Errorf("cluster %q: rule %q: %w", spec.Name, spec.Rules[j].Name, err)
				}
			}
		}
	}
	return nil
}

func (dc *datacenter) cluster(name string) *compute {
	for _, c := range dc.compute {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (b *inventory) rule(c *compute, cluster *simulator.ClusterComputeResource, spec *RuleSpec, key int32) error {
	config := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	var vms []types.ManagedObjectReference
	for _, name := range spec.VMs {
		m, err := b.machine(name)
		if err != nil {
			return err
		}
		vms = append(vms, m.vm.Self)
	}
	info := types.ClusterRuleInfo{
		Key: key, Name: spec.Name, Enabled: types.NewBool(!spec.Disabled), Mandatory: types.NewBool(spec.Mandatory),
		UserCreated: types.NewBool(true), Status: types.ManagedEntityStatusGreen,
	}
	switch spec.Kind {
	case "together":
		config.Rule = append(config.Rule, &types.ClusterAffinityRuleSpec{ClusterRuleInfo: info, Vm: vms})
	case "hosts":
		group := &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: spec.Name + " machines"}, Vm: vms}
		hosts := b.group(cluster, spec.Name+" hosts")
		for _, name := range spec.Hosts {
			hosts.Host = append(hosts.Host, c.host(name).Self)
		}
		config.Group = append(config.Group, group)
		rule := &types.ClusterVmHostRuleInfo{ClusterRuleInfo: info, VmGroupName: group.Name, AffineHostGroupName: hosts.Name}
		if spec.Away {
			rule.AffineHostGroupName, rule.AntiAffineHostGroupName = "", hosts.Name
		}
		config.Rule = append(config.Rule, rule)
	default:
		config.Rule = append(config.Rule, &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: info, Vm: vms})
	}
	return nil
}
