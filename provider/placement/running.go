package placement

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Readdress returns the addresses that an initialized Node gets, none if those that it has stay, as
// while it is not certain which machine it has. They are no other Node's from now on. The error is
// why it cannot have those that it has to have.
func (p *Placer) Readdress(node *v1.Node) ([]v1.NodeAddress, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.decide(node)
	if !d.Readdress || !p.isThere(node) || p.waitsForAddress(d.states, d.Machine, node) {
		return nil, d.AddressErr
	}
	p.reserve(node, inventory.UUID{}, d.Addresses.Addresses)
	return d.Addresses.Addresses, nil
}

// IsShutDown reports whether a Node's machine is powered off or suspended, by a vCenter
// that can be read.
func (p *Placer) IsShutDown(node *v1.Node) (bool, error) {
	id, err := p.Identify(node)
	if err != nil {
		return false, err
	}
	if err := nodeinfo.Contradiction(node); err != nil {
		return false, err
	}
	states := p.fleet.States()
	id.Running = false // its kubelet is silent, which is why the framework asks
	m, err := p.lookFor(states, id)
	if err != nil {
		return false, err
	}
	if failure := inventory.StateOf(states, m.Ref.VCenter).Err; failure != nil {
		return false, topology.Errorf(topology.ErrUnknown, "the power state of %s is not known: %w", m.Ref.Located(m.InventoryPath), failure)
	}
	switch m.Power {
	case inventory.PowerOn:
		return false, nil
	case inventory.PowerOff, inventory.PowerSuspended:
		return true, nil
	}
	return false, topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read", m.Ref.Located(m.InventoryPath))
}
