package provider

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/vcenter/inventory"
)

// errNoAddress: the machine has no address that the Node may have, or not the
// one of the kubelet's --node-ip.
var errNoAddress = addresses.ErrNone

// addresses returns the addresses that a Node gets. An error is errNoAddress.
func (p *Provider) addresses(m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	s := p.settings.Load()
	families := s.families[m.Ref.VCenter]
	if len(families) == 0 {
		return nil, fmt.Errorf("%w: vCenter %q is not in the configuration any more", errNoAddress, m.Ref.VCenter)
	}
	chosen, err := addresses.Select(addresses.For(m, node, &s.cfg.Addresses, families))
	return chosen.Addresses, err
}

// newAddresses returns the addresses that an initialised Node gets, none where it
// keeps those that it has: they would be the same, or VMware Tools do not report
// any now, as while the machine starts. What the kubelet was given then stands in
// for them only while a Node is initialised.
func (p *Provider) newAddresses(m *inventory.Machine, node *v1.Node) ([]v1.NodeAddress, error) {
	s := p.settings.Load()
	families := s.families[m.Ref.VCenter]
	chosen, err := addresses.Select(addresses.For(m, node, &s.cfg.Addresses, families))
	switch {
	case len(chosen.Unreported) == len(families), len(chosen.Unreported) > 0 && err == nil:
		return nil, nil
	case err != nil:
		return nil, err
	case addresses.Unchanged(node, chosen.Addresses):
		return nil, nil
	}
	return chosen.Addresses, nil
}
