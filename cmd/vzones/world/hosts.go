package world

import (
	"slices"

	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// The managed object types of what is above a machine.
const (
	TypeHost    = "HostSystem"
	TypeCluster = "ClusterComputeResource"
)

// A HostPlace is what the machines on a host get from the host and what is above it.
type HostPlace struct {
	Host *topology.Object
	// Under is the cluster, or the host itself if it is in none.
	Under     *topology.Object
	Up        topology.Path
	Placement topology.Placement
	// Missing are the labels that nothing on the path gives a value.
	Missing []string
}

// HostPolicy returns the rules that give all machines on a host the same value, and reports whether region
// and zone follow from those alone.
func HostPolicy(policy topology.Policy) (topology.Policy, bool) {
	p, ok := policy.ForHosts()
	if !ok {
		return topology.Policy{}, false
	}
	isMachines := func(r topology.Rule) bool { return !r.FollowsFromHost() }
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), isMachines)
	p.Levels = slices.DeleteFunc(slices.Clone(p.Levels), isMachines)
	return p, len(p.Rules) == len(policy.Rules)
}

// PlaceHost places a host, which is first on a path upwards, by the policy of hosts.
func PlaceHost(states []inventory.State, policy topology.Policy, up topology.Path) HostPlace {
	p := HostPlace{Host: up.Objects[0], Under: up.Objects[0], Up: up}
	if len(up.Objects) > 1 && up.Objects[1].Ref.Type == TypeCluster {
		p.Under = up.Objects[1]
	}
	p.Placement, p.Missing = Lacking(policy, placement.Paths(states, p.Host.Ref.VCenter, []topology.Path{up}))
	return p
}

// Lacking places by all rules as if no label were required, so that one without a value hides no other,
// and returns the labels that nothing gives a value.
func Lacking(policy topology.Policy, paths []topology.Path) (placed topology.Placement, missing []string) {
	policy.Rules = policy.Rules.Optional()
	policy.Levels = policy.Levels.Optional()
	// No label is required, so there is no error.
	placed, _ = topology.Resolve(policy, paths)
	for _, label := range policy.Labels() {
		if placed.Value(label) == "" && placed.WhyUndecided(label) == nil {
			missing = append(missing, label)
		}
	}
	return placed, missing
}
