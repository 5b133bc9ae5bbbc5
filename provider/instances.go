package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// InstanceShutdown says whether a Node's machine is powered off or suspended,
// according to a vCenter that could be read lately. A Node of another provider
// is not shut down.
func (p *Provider) InstanceShutdown(_ context.Context, node *v1.Node) (bool, error) {
	if p.isForeign(node) {
		return false, nil
	}
	id, err := p.identify(node)
	if err != nil {
		return false, err
	}
	if err := contradiction(node); err != nil {
		return false, err
	}
	states := p.fleet.States()
	m, err := inventory.FindStopped(states, id)
	if err != nil {
		return false, err
	}
	if trouble := inventory.StateOf(states, m.Ref.VCenter).Trouble; trouble != nil {
		return false, fmt.Errorf("%w: power state of %s: %w", topology.ErrUnknown, quote.Name(m.InventoryPath), trouble)
	}
	switch m.Power {
	case inventory.PowerOn:
		return false, nil
	case inventory.PowerOff, inventory.PowerSuspended:
		return true, nil
	}
	return false, fmt.Errorf("%w: the power state of vCenter %q %s cannot be read", topology.ErrUnknown, m.Ref.VCenter, quote.Name(m.InventoryPath))
}

// InstanceMetadata returns what the framework writes to a Node.
//
// For a Node that carries the framework's taint it is complete or nothing: nil
// without an error leaves the Node alone, and the provider wakes the
// framework's controller once there is more to say. An error instead would be
// tried again at intervals that grow to a quarter of an hour.
//
// For a Node without the taint only the addresses count, and there are none if
// they are to stay as they are, as while its machine is unknown. For a Node of another provider the result is
// empty, which changes nothing.
func (p *Provider) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if isUninitialized(node) {
		answer := p.waits.ask(node.UID)
		m := p.initialMetadata(ctx, node)
		answer(m == nil)
		return m, nil
	}
	if p.isForeign(node) {
		return &cloudprovider.InstanceMetadata{}, nil
	}
	states := p.fleet.States()
	m, err := p.machine(states, node)
	if node.Spec.ProviderID == "" && (errors.Is(err, topology.ErrAbsent) || errors.Is(err, errNoUUID)) {
		return &cloudprovider.InstanceMetadata{}, nil // it never was ours
	}
	if err == nil {
		err = p.unshared(states, m, node)
	}
	if errors.Is(err, topology.ErrUnknown) && !errors.Is(err, errContradiction) {
		// The framework would log the error for each Node, at each start before the vCenters
		// are read and while one is down. That is logged once, with the vCenter.
		return &cloudprovider.InstanceMetadata{}, nil
	}
	if err != nil {
		return nil, err
	}
	addrs, err := p.newAddresses(states, m, node)
	if err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    providerID(m.UUID),
		InstanceType:  instanceType(m),
		NodeAddresses: addrs,
	}, nil
}

// initialMetadata returns what a Node is initialized with, nil if it has to wait or is
// another provider's.
func (p *Provider) initialMetadata(ctx context.Context, node *v1.Node) *cloudprovider.InstanceMetadata {
	if p.isForeign(node) {
		return nil
	}
	d, err := p.initial(node)
	if err == nil {
		err = d.waits(node)
	}
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Node waits", "node", klog.KObj(node), "err", quote.Line(err.Error()))
		return nil
	}
	if err := p.give(node, d); err != nil {
		klog.FromContext(ctx).V(4).Info("Node waits", "node", klog.KObj(node), "err", quote.Line(err.Error()))
		return nil
	}
	d.log(ctx, node)
	return d.metadata
}

// machine returns the machine of a Node that does not name two of them.
func (p *Provider) machine(states []inventory.State, node *v1.Node) (*inventory.Machine, error) {
	if err := contradiction(node); err != nil {
		return nil, err
	}
	return p.named(states, node)
}

// named returns the machine that a Node names, by its provider ID if it has one.
func (p *Provider) named(states []inventory.State, node *v1.Node) (*inventory.Machine, error) {
	id, err := p.identify(node)
	if err != nil {
		return nil, err
	}
	return inventory.Find(states, id)
}

// description is all that is known of an uninitialised Node.
type description struct {
	machine   *inventory.Machine
	placement topology.Placement
	metadata  *cloudprovider.InstanceMetadata
}

// describe returns what a Node has by what is known. It is all or nothing: a Node
// without its zone would be scheduled to for good.
func (p *Provider) describe(node *v1.Node) (*description, error) {
	d, _, err := p.look(node)
	return d, err
}

// look is describe, and returns the state of the machine's vCenter if it is known.
func (p *Provider) look(node *v1.Node) (*description, inventory.State, error) {
	states := p.fleet.States()
	m, err := p.machine(states, node)
	if err == nil {
		err = p.alone(states, m, node)
	}
	if err != nil {
		return nil, inventory.State{}, err
	}
	in := inventory.StateOf(states, m.Ref.VCenter)
	if err := p.tooOld(in); err != nil {
		return nil, in, err
	}
	cfg := p.settings.Load().cfg
	placement, err := resolve(cfg.Topology.Policy, states, m)
	if err != nil {
		return nil, in, fmt.Errorf("placing vCenter %q %s: %w", m.Ref.VCenter, quote.Name(m.InventoryPath), err)
	}
	addrs, err := p.addresses(states, m, node)
	if err != nil {
		return nil, in, err
	}
	return &description{
		machine:   m,
		placement: placement,
		metadata: &cloudprovider.InstanceMetadata{
			ProviderID:    providerID(m.UUID),
			InstanceType:  instanceType(m),
			NodeAddresses: addrs,
			Region:        placement.Value(topology.LabelRegion),
			Zone:          placement.Value(topology.LabelZone),

			AdditionalLabels: furtherLabels(placement, cfg.NodeLabels),
		},
	}, in, nil
}

// furtherLabels are those of the levels that the framework writes, and those that every
// Node gets. A label of a level is none of the latter, which the configuration's validation sees to.
func furtherLabels(placement topology.Placement, every map[string]string) map[string]string {
	levels := placement.Further()
	maps.DeleteFunc(levels, func(key, _ string) bool { return topology.IsReservedLevel(key) }) // see unwritten
	if len(levels) == 0 {
		levels = nil
	}
	if len(every) == 0 {
		return levels
	}
	all := maps.Clone(every)
	maps.Copy(all, levels)
	return all
}

func (d *description) log(ctx context.Context, node *v1.Node) {
	log := klog.FromContext(ctx).V(2)
	if !log.Enabled() {
		return
	}
	var deciders []string
	for _, by := range d.placement.Decisions {
		deciders = append(deciders, by.Source())
	}
	log.Info("Placed Node", "node", klog.KObj(node), "vCenter", d.machine.Ref.VCenter, "moid", quote.Plain(d.machine.Ref.ID),
		"region", d.metadata.Region, "zone", d.metadata.Zone, "by", deciders)
}

// isUninitialized says whether a Node waits for the cloud provider.
func isUninitialized(node *v1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == cloudproviderapi.TaintExternalCloudProvider {
			return true
		}
	}
	return false
}
