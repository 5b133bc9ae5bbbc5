package world

import (
	"slices"

	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Managed object types above a VM.
const (
	TypeHost    = "HostSystem"
	TypeCluster = "ClusterComputeResource"
)

// HostPlace contains the labels that a host gives to the VMs on it.
type HostPlace struct {
	Host *topology.Object
	// Under is the cluster, or the host itself if it is standalone.
	Under     *topology.Object
	Up        topology.Path
	Placement topology.Placement
	Missing   []string
}

// HostPolicy returns the rules whose values depend only on a VM's host, and reports whether these
// include all rules for region and zone.
func HostPolicy(policy topology.Policy) (topology.Policy, bool) {
	p, ok := policy.ForHosts()
	if !ok {
		return topology.Policy{}, false
	}
	isVMs := func(r topology.Rule) bool { return !r.FollowsFromHost() }
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), isVMs)
	p.Levels = slices.DeleteFunc(slices.Clone(p.Levels), isVMs)
	return p, len(p.Rules) == len(policy.Rules)
}

// PlaceHost places the host at the start of a path, with a policy from HostPolicy.
func PlaceHost(states []inventory.State, policy topology.Policy, up topology.Path) HostPlace {
	p := HostPlace{Host: up.Objects[0], Under: up.Objects[0], Up: up}
	if len(up.Objects) > 1 && up.Objects[1].Ref.Type == TypeCluster {
		p.Under = up.Objects[1]
	}
	p.Placement, p.Missing = Lacking(policy, placement.Paths(states, p.Host.Ref.VCenter, []topology.Path{up}))
	return p
}

// Lacking resolves all labels as optional, so that a missing label does not hide the next, and returns the
// missing labels.
func Lacking(policy topology.Policy, paths []topology.Path) (placed topology.Placement, missing []string) {
	policy.Rules = policy.Rules.Optional()
	policy.Levels = policy.Levels.Optional()
	placed, _ = topology.Resolve(policy, paths)
	for _, label := range policy.Labels() {
		if placed.Value(label) == "" && placed.WhyUndecided(label) == nil {
			missing = append(missing, label)
		}
	}
	return placed, missing
}
