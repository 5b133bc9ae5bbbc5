package fleet

import (
	"fmt"
	"net/http"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// SetDRS switches DRS of a cluster on or off.
func (v *VCenter) SetDRS(cluster string, on bool) error {
	return v.onCluster(cluster, func(c *types.ClusterConfigInfoEx) error {
		c.DrsConfig.Enabled = types.NewBool(on)
		return nil
	})
}

// KeepApart makes an enabled DRS rule that keeps machines on different hosts.
func (v *VCenter) KeepApart(cluster, rule string, vms ...string) error {
	return v.addRule(cluster, vms, func(refs []types.ManagedObjectReference) types.BaseClusterRuleInfo {
		return &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: enabledRule(rule), Vm: refs}
	})
}

// KeepTogether makes an enabled DRS rule that keeps machines on one host.
func (v *VCenter) KeepTogether(cluster, rule string, vms ...string) error {
	return v.addRule(cluster, vms, func(refs []types.ManagedObjectReference) types.BaseClusterRuleInfo {
		return &types.ClusterAffinityRuleSpec{ClusterRuleInfo: enabledRule(rule), Vm: refs}
	})
}

func enabledRule(name string) types.ClusterRuleInfo {
	return types.ClusterRuleInfo{Name: name, Enabled: types.NewBool(true)}
}

func (v *VCenter) addRule(cluster string, vms []string, rule func([]types.ManagedObjectReference) types.BaseClusterRuleInfo) error {
	var refs []types.ManagedObjectReference
	for _, vm := range vms {
		ref, err := v.Reference(vm)
		if err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	return v.onCluster(cluster, func(c *types.ClusterConfigInfoEx) error {
		c.Rule = append(c.Rule, rule(refs))
		return nil
	})
}

// onCluster runs f on the configuration of a cluster, with the inventory to itself.
func (v *VCenter) onCluster(name string, f func(*types.ClusterConfigInfoEx) error) error {
	v.world.Lock()
	defer v.world.Unlock()
	e, err := v.inv.find(name, "ClusterComputeResource")
	if err != nil {
		return err
	}
	return f(e.(*simulator.ClusterComputeResource).ConfigurationEx.(*types.ClusterConfigInfoEx))
}

// DefineCategory gives a tag category a cardinality, SINGLE or MULTIPLE, and lets its tags be attached
// to objects of some types only; all without any. It is created as needed. One that tags were attached
// of is MULTIPLE until then.
func (v *VCenter) DefineCategory(category, cardinality string, objectTypes ...string) error {
	t := &v.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	id, err := v.category(category)
	if err != nil {
		return err
	}
	update := map[string]any{"cardinality": cardinality}
	if len(objectTypes) > 0 {
		update["associable_types"] = objectTypes
	}
	if err := v.send(http.MethodPatch, categoryPath+"/id:"+id, map[string]any{"update_spec": update}, nil); err != nil {
		return fmt.Errorf("defining tag category %q: %w", category, err)
	}
	return nil
}

// granted returns an answer to HasUserPrivilegeOnEntities by what DenyRead has taken. The simulator
// grants everything.
func (v *VCenter) granted(res *response) *response {
	unread := v.omissions().unread
	if len(unread) == 0 {
		return res
	}
	var body methods.HasUserPrivilegeOnEntitiesBody
	return amend(res, &body, func() (changed bool) {
		if body.Res == nil {
			return false
		}
		for _, e := range body.Res.Returnval {
			for i := range e.PrivAvailability {
				if p := &e.PrivAvailability[i]; p.PrivId == "System.Read" && unread[e.Entity] {
					p.IsGranted, changed = false, true
				}
			}
		}
		return changed
	})
}
