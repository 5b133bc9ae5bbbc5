package placement

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// newNodeAddresses returns the addresses that an uninitialized Node gets.
func (p *Placer) newNodeAddresses(states []inventory.State, m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	chosen, _, err := p.choose(states, m, node)
	return chosen.Addresses, err
}

// changedAddresses returns the addresses that an initialized Node gets, none where it
// keeps those that it has: they would be the same, or VMware Tools do not report
// any now, as while the machine starts, or too many, or its metadata has changed and is
// not read yet. What the kubelet was given then stands in
// for them only while a Node is initialized.
func (p *Placer) changedAddresses(states []inventory.State, m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	if m.Pending {
		return nil, nil
	}
	before := p.grants.now()
	chosen, families, err := p.choose(states, m, node)
	switch {
	case len(chosen.Unreported) == families, len(chosen.Unreported) > 0 && err == nil:
		return nil, nil
	case err != nil:
		return nil, err
	case addresses.Unchanged(node, chosen.Addresses):
		return nil, nil
	}
	if err := p.grants.give(node, chosen.Addresses, before); err != nil {
		return nil, err
	}
	return chosen.Addresses, nil
}

// choose selects the addresses of a Node, and returns of how many families they are.
func (p *Placer) choose(states []inventory.State, m *inventory.Machine, node *v1.Node) (addresses.Selection, int, error) {
	s := p.settings.Load()
	families := s.families[m.Ref.VCenter]
	if len(families) == 0 {
		return addresses.Selection{}, 0, topology.Errorf(addresses.ErrNone, "vCenter %q is not in the configuration any more: add it again", m.Ref.VCenter)
	}
	in := addresses.For(m, node, &s.cfg.Addresses, families)
	if err := p.claim(&in, states, m, node); err != nil {
		return addresses.Selection{}, len(families), err
	}
	chosen, err := addresses.Select(in)
	return chosen, len(families), err
}
