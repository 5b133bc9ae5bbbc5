package placement

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A basis is what all placements rest on beside the machines: which tag categories the
// vCenters show, and under which name each is the first entry.
type basis struct {
	snapshots []*inventory.Snapshot
	none      []string
	hidden    map[string][]string
	first     map[string]string
}

func newBasis(states []inventory.State) *basis {
	b := &basis{none: inventory.InvisibleCategories(states), hidden: inventory.InvisibleByVCenter(states), first: make(map[string]string, len(states))}
	for _, s := range states {
		b.snapshots = append(b.snapshots, s.Snapshot)
		b.first[s.VCenter] = inventory.FirstEntry(states, s.VCenter)
	}
	return b
}

// isOf reports whether a basis is that of states, by their snapshots.
func (b *basis) isOf(states []inventory.State) bool {
	return slices.EqualFunc(b.snapshots, states, func(of *inventory.Snapshot, s inventory.State) bool {
		_, named := b.first[s.VCenter]
		return of == s.Snapshot && named
	})
}

// places reports whether two bases give every machine the same placement.
func (b *basis) places(as *basis) bool {
	return slices.Equal(b.none, as.none) && maps.EqualFunc(b.hidden, as.hidden, slices.Equal) && maps.Equal(b.first, as.first) &&
		slices.EqualFunc(b.snapshots, as.snapshots, func(x, y *inventory.Snapshot) bool { return slices.Equal(noCategory(x), noCategory(y)) })
}

func noCategory(s *inventory.Snapshot) []string {
	if s == nil {
		return nil
	}
	return s.InvisibleCategories
}

// placed is a Node's placement and what it was made of.
type placed struct {
	machine   *inventory.Machine
	policy    *topology.Policy
	basis     *basis
	placement topology.Placement
	err       error
}

// placementOf returns the placement of a Node's machine. It is made once for a machine, which is
// another value whenever anything of it has changed, and serves until then. The lock is held.
func (p *Placer) placementOf(node types.UID, policy *topology.Policy, states []inventory.State, m *inventory.Machine) (topology.Placement, error) {
	if p.basis == nil || !p.basis.isOf(states) {
		now := newBasis(states)
		if p.basis != nil && p.basis.places(now) {
			p.basis.snapshots = now.snapshots
		} else {
			p.basis = now
		}
	}
	k := p.knownOf(node)
	if was := k.placed; was.machine == m && was.policy == policy && was.basis == p.basis {
		return was.placement, was.err
	}
	placement, err := resolve(*policy, states, m)
	k.placed = placed{m, policy, p.basis, placement, err}
	return placement, err
}

// resolve places a machine by what its vCenter shows to the account, and says where
// no other vCenter shows a category either, and what the CSI driver does not see.
func resolve(policy topology.Policy, states []inventory.State, m *inventory.Machine) (topology.Placement, error) {
	policy.Invisible = invisible(states, m)
	placement, err := topology.Resolve(policy, paths(states, m))
	none := policy.NoCategory(inventory.InvisibleCategories(states))
	placement.Conflicts = slices.Concat(placement.Conflicts, none, policy.MissingCategories(inventory.InvisibleByVCenter(states)), policy.NotCSI())
	if errors.Is(err, topology.ErrNoCategory) {
		for _, conflict := range none {
			if policy.IsRequired(conflict.Labels[0]) {
				return placement, topology.Errorf(topology.Kinds{topology.ErrUnknown, topology.ErrNoCategory}, "%s", conflict.Text())
			}
		}
	}
	return placement, err
}

// invisible returns the tag categories that a machine's vCenter does not show to the account.
func invisible(states []inventory.State, m *inventory.Machine) []string {
	if in := inventory.StateOf(states, m.Ref.VCenter).Snapshot; in != nil {
		return in.InvisibleCategories
	}
	return nil
}

// paths returns those of a machine.
func paths(states []inventory.State, m *inventory.Machine) []topology.Path {
	return Paths(states, m.Ref.VCenter, m.Paths)
}

// Paths returns paths that an entry of a vCenter shows as placements have them, such as the way up from
// a host. What is above a machine is of the vCenter, which has the name of its first entry, whichever
// of them has found the machine.
func Paths(states []inventory.State, entry string, of []topology.Path) []topology.Path {
	first := inventory.FirstEntry(states, entry)
	if first == entry {
		return of
	}
	renamed := map[*topology.Object]*topology.Object{}
	all := slices.Clone(of)
	for i := range all {
		all[i].Objects = slices.Clone(all[i].Objects)
		for j, o := range all[i].Objects {
			if renamed[o] == nil {
				now := *o
				now.Ref.VCenter = first
				renamed[o] = &now
			}
			all[i].Objects[j] = renamed[o]
		}
	}
	return all
}

// Tagged returns the tags of regions and zones in the vCenters of these states that are attached
// to anything, as far as their snapshots have them, by the name of each vCenter's first entry. Of
// a tag that several entries of one vCenter show, that of the one which shows most objects counts.
func Tagged(states []inventory.State) []topology.Tagged {
	type tag struct{ vcenter, category, name string }
	var all []topology.Tagged
	at := map[tag]int{}
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		first := inventory.FirstEntry(states, s.VCenter)
		for _, t := range s.Snapshot.Tagged {
			t.VCenter = first
			i, again := at[tag{first, t.Category, t.Name}]
			switch {
			case !again:
				at[tag{first, t.Category, t.Name}] = len(all)
				all = append(all, t)
			case len(t.NoHosts)+t.Further > len(all[i].NoHosts)+all[i].Further:
				all[i] = t
			}
		}
	}
	return all
}

// Contenders returns the tags above a machine that could have decided its Node's labels, and what
// became of each.
func (p *Placer) Contenders(m *inventory.Machine) []topology.Contender {
	states, policy := p.fleet.States(), p.Topology().Policy
	policy.Invisible = invisible(states, m)
	return topology.Contenders(policy, paths(states, m))
}
