package provider

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/vcenter/inventory"
)

// errNoAddress: the machine has no address that the Node may have, or not the
// one of the kubelet's --node-ip. errAddressClaimed: another Node has it.
var (
	errNoAddress      = addresses.ErrNone
	errAddressClaimed = addresses.ErrClaimed
)

// addresses returns the addresses that a Node gets. An error is errNoAddress.
func (p *Provider) addresses(states []inventory.State, m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	chosen, _, err := p.choose(states, m, node)
	return chosen.Addresses, err
}

// newAddresses returns the addresses that an initialised Node gets, none where it
// keeps those that it has: they would be the same, or VMware Tools do not report
// any now, as while the machine starts, or too many, or its metadata has changed and is
// not read yet. What the kubelet was given then stands in
// for them only while a Node is initialised.
func (p *Provider) newAddresses(states []inventory.State, m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	if m.Pending {
		return nil, nil
	}
	chosen, families, err := p.choose(states, m, node)
	switch {
	case len(chosen.Unreported) == families, len(chosen.Unreported) > 0 && err == nil:
		return nil, nil
	case err != nil:
		return nil, err
	case addresses.Unchanged(node, chosen.Addresses):
		return nil, nil
	}
	if err := p.grants.give(node, chosen.Addresses); err != nil {
		return nil, err
	}
	return chosen.Addresses, nil
}

// choose selects the addresses of a Node, and returns of how many families they are.
func (p *Provider) choose(states []inventory.State, m *inventory.Machine, node *v1.Node) (addresses.Selection, int, error) {
	s := p.settings.Load()
	families := s.families[m.Ref.VCenter]
	if len(families) == 0 {
		return addresses.Selection{}, 0, fmt.Errorf("%w: vCenter %q is not in the configuration any more", errNoAddress, m.Ref.VCenter)
	}
	in := addresses.For(m, node, &s.cfg.Addresses, families)
	if err := p.claim(&in, states, m, node); err != nil {
		return addresses.Selection{}, len(families), err
	}
	chosen, err := addresses.Select(in)
	return chosen, len(families), err
}
