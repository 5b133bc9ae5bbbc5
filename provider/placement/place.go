package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A basis contains every input of a placement except the VM and the rules.
type basis struct {
	states []inventory.State
	// Bases with equal keys give every VM the same placement.
	key string
}

func (b *basis) update(states []inventory.State) {
	if slices.EqualFunc(b.states, states, func(was, is inventory.State) bool {
		return was.VCenter == is.VCenter && was.Snapshot == is.Snapshot && (was.Err == nil) == (is.Err == nil)
	}) {
		return
	}
	var key strings.Builder
	for _, s := range states {
		fmt.Fprintf(&key, "%q %q", s.VCenter, inventory.FirstEntry(states, s.VCenter))
		if s.Snapshot != nil && len(s.Snapshot.InvisibleCategories) > 0 {
			fmt.Fprintf(&key, " %q %q", s.Snapshot.InvisibleCategories, s.Snapshot.VisibleCategories)
		}
		key.WriteByte('\n')
	}
	fmt.Fprintf(&key, "%q %q", inventory.InvisibleCategories(states), inventory.InvisibleByVCenter(states))
	*b = basis{states, key.String()}
}

type placed struct {
	vm        *inventory.VM
	policy    *topology.Policy
	basis     string
	hasCSI    bool
	placement topology.Placement
	err       error
}

// place returns a Node's placement, which is cached: a VM that changes gets a new pointer. The caller holds
// the lock.
func (p *Placer) place(node *v1.Node, rules *topology.Policy, states []inventory.State, m *inventory.VM) (topology.Placement, error) {
	p.basis.update(states)
	k := p.memories.Memory(node)
	csi := nodeinfo.HasCSIDriver(node)
	if cached := k.placed; cached.vm == m && cached.policy == rules && cached.basis == p.basis.key && cached.hasCSI == csi {
		return cached.placement, cached.err
	}
	policy := *rules
	policy.Invisible, policy.Visible = categories(states, m)
	placement, err := topology.Resolve(policy, Paths(states, m.Ref.VCenter, m.Paths))
	none := policy.NoCategory(inventory.InvisibleCategories(states))
	placement.Conflicts = slices.Concat(placement.Conflicts, none, policy.NotCSI())
	if csi {
		placement.Conflicts = append(placement.Conflicts, policy.MissingCategories(inventory.InvisibleByVCenter(states))...)
	}
	if errors.Is(err, topology.ErrNoCategory) {
		if i := slices.IndexFunc(none, func(c topology.Conflict) bool { return policy.IsRequired(c.Labels[0]) }); i >= 0 {
			err = topology.Errorf(topology.Kinds{topology.ErrUnknown, topology.ErrNoCategory}, "%s", none[i].Key())
		}
	}
	k.placed = placed{m, rules, p.basis.key, csi, placement, err}
	return placement, err
}

func categories(states []inventory.State, m *inventory.VM) (invisible, visible []string) {
	if snapshot := inventory.StateOf(states, m.Ref.VCenter).Snapshot; snapshot != nil {
		return snapshot.InvisibleCategories, snapshot.VisibleCategories
	}
	return nil, nil
}

// Paths returns the paths of a configuration entry with the name of its vCenter's first entry, as in placements.
func Paths(states []inventory.State, entry string, paths []topology.Path) []topology.Path {
	first := inventory.FirstEntry(states, entry)
	if first == entry {
		return paths
	}
	renamed := map[*topology.Object]*topology.Object{}
	result := slices.Clone(paths)
	for i := range result {
		result[i].Objects = slices.Clone(result[i].Objects)
		for j, o := range result[i].Objects {
			if renamed[o] == nil {
				object := *o
				object.Ref.VCenter = first
				renamed[o] = &object
			}
			result[i].Objects[j] = renamed[o]
		}
	}
	return result
}

// Contenders returns the tags above a VM that could have decided its Node's labels.
func Contenders(states []inventory.State, policy topology.Policy, m *inventory.VM) []topology.Contender {
	policy.Invisible, _ = categories(states, m)
	return topology.Contenders(policy, Paths(states, m.Ref.VCenter, m.Paths))
}
