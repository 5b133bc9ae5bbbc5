package placement

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/nodestate"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// newNodeAddresses returns the addresses that an uninitialized Node gets.
func (p *Placer) newNodeAddresses(states []inventory.State, m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	chosen, _, err := p.choose(states, m, node)
	return chosen.Addresses, err
}

// Addresses returns the addresses that a Node gets of its machine, and why each was chosen or
// dropped. Changed reports whether they are written: an initialized Node keeps those that it has
// if they would be the same or are not known now, and then there is no error. It reserves nothing.
func (p *Placer) Addresses(node *v1.Node, m *inventory.Machine) (chosen addresses.Selection, changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	chosen, families, err := p.choose(p.fleet.States(), m, node)
	if nodestate.IsUninitialized(node) {
		return chosen, err == nil, err
	}
	changed, err = isChange(node, m, &chosen, families, err)
	return chosen, changed, err
}

// changedAddresses returns the addresses that an initialized Node gets, none where it
// keeps those that it has, for now or as they are.
func (p *Placer) changedAddresses(states []inventory.State, m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	chosen, families, err := p.choose(states, m, node)
	if changed, err := isChange(node, m, &chosen, families, err); !changed {
		return nil, err
	}
	if p.waitsForAddress(states, m, node) {
		return nil, nil
	}
	p.reserve(node, inventory.UUID{}, chosen.Addresses)
	return chosen.Addresses, nil
}

// isChange reports whether an initialized Node gets the addresses that were chosen, or
// returns the error. It keeps those that it has where they would be the same, or VMware Tools
// do not report any now, as while the machine starts, or too many, or its metadata has
// changed and is not read yet. What the kubelet was given then stands in for them only while
// a Node is initialized.
func isChange(node *v1.Node, m *inventory.Machine, chosen *addresses.Selection, families int, err error) (bool, error) {
	switch {
	case m.Pending, len(chosen.Unreported) == families, len(chosen.Unreported) > 0 && err == nil:
		return false, nil
	case err != nil:
		return false, err
	}
	return !addresses.Unchanged(node, chosen.Addresses), nil
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
