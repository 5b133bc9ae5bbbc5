package placement

import (
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/identity"
	"vzones/provider/instancetype"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Running returns the metadata of an initialized Node. Only the addresses count, and there
// are none if they are to stay as they are. It is empty while it is not certain which machine the
// Node has, and for a Node that never was ours. The error is about the addresses.
func (p *Placer) Running(node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := p.fleet.States()
	m, err := p.machine(states, node)
	if err == nil && !p.isThere(node) {
		err = errGone
	}
	if err == nil {
		err = p.unshared(states, m, node)
	}
	if err != nil {
		// The framework would log the error of each Node in each round. An Event about the
		// Node says the same, and the log has that once.
		return &cloudprovider.InstanceMetadata{}, nil
	}
	addrs, err := p.changedAddresses(states, m, node)
	if err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    identity.ProviderID(m.UUID),
		InstanceType:  instancetype.Of(m),
		NodeAddresses: addrs,
	}, nil
}

// IsShutDown reports whether a Node's machine is powered off or suspended, by a vCenter
// that can be read.
func (p *Placer) IsShutDown(node *v1.Node) (bool, error) {
	id, err := p.Identify(node)
	if err != nil {
		return false, err
	}
	if err := identity.Contradiction(node); err != nil {
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
