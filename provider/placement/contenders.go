package placement

import (
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Contenders returns the tags above a machine that could have decided its Node's labels, and what
// became of each.
func (p *Placer) Contenders(m *inventory.Machine) []topology.Contender {
	states, policy := p.fleet.States(), p.Topology().Policy
	policy.Invisible = invisible(states, m)
	return topology.Contenders(policy, paths(states, m))
}
