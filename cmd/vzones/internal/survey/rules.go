package survey

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/watch/model"
)

// clusterOf returns the DRS configuration in what was read of a cluster.
func clusterOf(o *types.ObjectContent) *Cluster {
	for _, p := range o.PropSet {
		if config, ok := p.Val.(types.ClusterConfigInfoEx); ok && p.Name == model.ClusterConfig {
			return clusterIn(&config)
		}
	}
	if err := missing(o, model.ClusterConfig); err != nil {
		return &Cluster{Err: err}
	}
	return &Cluster{Err: errNotReported}
}

func clusterIn(config *types.ClusterConfigInfoEx) *Cluster {
	c := &Cluster{DRS: isSet(config.DrsConfig.Enabled), HA: isSet(config.DasConfig.Enabled)}
	groups := map[string][]string{}
	for _, g := range config.Group {
		switch g := g.(type) {
		case *types.ClusterVmGroup:
			groups["machines "+g.Name] = values(g.Vm)
		case *types.ClusterHostGroup:
			groups["hosts "+g.Name] = values(g.Host)
		}
	}
	for _, r := range config.Rule {
		info := r.GetClusterRuleInfo()
		rule := Rule{Name: info.Name, Enabled: isSet(info.Enabled), Mandatory: isSet(info.Mandatory)}
		switch r := r.(type) {
		case *types.ClusterAntiAffinityRuleSpec:
			rule.Kind, rule.Machines = Separate, values(r.Vm)
		case *types.ClusterAffinityRuleSpec:
			rule.Kind, rule.Machines = Together, values(r.Vm)
		case *types.ClusterVmHostRuleInfo:
			rule.Kind, rule.Machines = Hosts, groups["machines "+r.VmGroupName]
			rule.Hosts, rule.Away = groups["hosts "+r.AffineHostGroupName], r.AffineHostGroupName == ""
			if rule.Away {
				rule.Hosts = groups["hosts "+r.AntiAffineHostGroupName]
			}
		default:
			continue // it is about the order in which machines start
		}
		c.Rules = append(c.Rules, rule)
	}
	return c
}

func isSet(b *bool) bool { return b != nil && *b }

// values returns the managed object IDs of objects, in order.
func values(refs []types.ManagedObjectReference) []string {
	ids := make([]string, 0, len(refs))
	for _, ref := range refs {
		ids = append(ids, ref.Value)
	}
	slices.Sort(ids)
	return ids
}
