package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// confirmTimeout bounds the search that confirms an absence. The framework
// checks one Node after the other, so a vCenter that hangs must not hold up the
// rest; the check comes again after its --node-monitor-period.
const confirmTimeout = 3 * time.Second

// InstanceExists says whether a Node's machine exists. False makes the
// framework delete the Node, so it is said only of a machine that had been
// found once (the Node has its provider ID), that no vCenter's complete index
// has, and that a direct search of every vCenter does not find. Anything short
// of that is an error, and so is an absence where the configuration has no Node
// deleted. A Node of another provider always exists.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	if p.isForeign(node) {
		return true, nil
	}
	id, err := p.identify(node)
	if err != nil {
		return false, err
	}
	states := p.fleet.States()
	if inventory.Indexed(states, id.UUIDs) {
		return true, nil
	}
	_, err = inventory.Find(states, id)
	switch {
	case err == nil, errors.Is(err, topology.ErrAmbiguous):
		return true, nil
	case !errors.Is(err, topology.ErrAbsent):
		return false, err
	case node.Spec.ProviderID == "":
		return false, fmt.Errorf("%w: the machine of Node %s was never found, so nothing tells that it is gone: %w", topology.ErrUnknown, node.Name, err)
	}
	if p.settings.Load().cfg.SkipNodeDeletion {
		return false, fmt.Errorf("%w: Node %s is kept, since nodes.skipDeletion is set: %w", topology.ErrUnknown, node.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	// A provider ID that something else has set may be in the other byte order.
	for _, u := range id.UUIDs[:len(id.UUIDs):len(id.UUIDs)] {
		id.UUIDs = append(id.UUIDs, u.Swapped())
	}
	if err := p.fleet.ConfirmAbsent(ctx, id); err != nil {
		return false, fmt.Errorf("the absence of the machine with %s is not confirmed: %w", id, err)
	}
	// Those that were searched may be others than those that it is absent from.
	if err := p.stillAbsent(states, node); err != nil {
		return false, err
	}
	// The framework deletes by name, from a list that may be minutes old.
	if p.replaced(node) {
		return false, fmt.Errorf("%w: Node %s was made anew", topology.ErrUnknown, node.Name)
	}
	klog.FromContext(ctx).Info("Every vCenter was searched and none has the machine", "node", node.Name, "machine", id.String())
	return false, nil
}

// stillAbsent returns an error unless the same vCenters are configured as in states,
// and none of them has the Node's machine by now.
func (p *Provider) stillAbsent(states []inventory.State, node *v1.Node) error {
	now := p.fleet.States()
	if !slices.EqualFunc(states, now, func(a, b inventory.State) bool { return a.VCenter == b.VCenter }) {
		return fmt.Errorf("%w: the vCenters in the configuration have changed meanwhile", topology.ErrUnknown)
	}
	_, err := p.machine(now, node)
	switch {
	case errors.Is(err, topology.ErrAbsent):
		return nil
	case err == nil:
		return fmt.Errorf("%w: the machine of Node %s has come back", topology.ErrUnknown, node.Name)
	}
	return err
}

// replaced says whether another Node has the name by now.
func (p *Provider) replaced(node *v1.Node) bool {
	select {
	case <-p.ready:
	default:
		return false
	}
	now, err := p.nodes.NodeInformer.Lister().Get(node.Name)
	return err == nil && now.UID != node.UID
}

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
	states := p.fleet.States()
	m, err := inventory.FindStopped(states, id)
	if err != nil {
		return false, err
	}
	if trouble := inventory.StateOf(states, m.Ref.VCenter).Trouble; trouble != nil {
		return false, fmt.Errorf("%w: power state of %s: %w", topology.ErrUnknown, m.InventoryPath, trouble)
	}
	switch m.Power {
	case inventory.PowerOn:
		return false, nil
	case inventory.PowerOff, inventory.PowerSuspended:
		return true, nil
	}
	return false, fmt.Errorf("%w: the power state of vCenter %q %s cannot be read", topology.ErrUnknown, m.Ref.VCenter, m.InventoryPath)
}

// InstanceMetadata returns what the framework writes to a Node.
//
// For a Node that carries the framework's taint it is complete or nothing: nil
// without an error leaves the Node alone, and the provider wakes the
// framework's controller once there is more to say. An error instead would be
// tried again at intervals that grow to a quarter of an hour.
//
// For a Node without the taint only the addresses count, and there are none if
// they are to stay as they are. For a Node of another provider the result is
// empty, which changes nothing.
func (p *Provider) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if p.isForeign(node) {
		if isUninitialized(node) {
			return nil, nil
		}
		return &cloudprovider.InstanceMetadata{}, nil
	}
	if isUninitialized(node) {
		d, err := p.describe(node)
		if err == nil {
			err = d.waits(node)
		}
		if err != nil {
			klog.FromContext(ctx).V(4).Info("Node waits", "node", node.Name, "reason", err.Error())
			return nil, nil
		}
		d.log(ctx, node)
		return d.metadata, nil
	}
	m, err := p.machine(p.fleet.States(), node)
	if errors.Is(err, topology.ErrAbsent) && node.Spec.ProviderID == "" {
		return &cloudprovider.InstanceMetadata{}, nil // it never was ours
	}
	if err != nil {
		return nil, err
	}
	addrs, err := p.newAddresses(m, node)
	if err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    providerID(m.UUID),
		InstanceType:  instanceType(m),
		NodeAddresses: addrs,
	}, nil
}

func (p *Provider) machine(states []inventory.State, node *v1.Node) (*inventory.Machine, error) {
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

// describe returns what a Node is to be initialised with. It is all or
// nothing: a Node without its zone would be scheduled to for good.
func (p *Provider) describe(node *v1.Node) (*description, error) {
	states := p.fleet.States()
	m, err := p.machine(states, node)
	if err != nil {
		return nil, err
	}
	if err := p.tooOld(inventory.StateOf(states, m.Ref.VCenter)); err != nil {
		return nil, err
	}
	cfg := p.settings.Load().cfg
	placement, err := resolve(cfg.Topology.Policy, states, m)
	if err != nil {
		return nil, fmt.Errorf("placing vCenter %q %s: %w", m.Ref.VCenter, m.InventoryPath, err)
	}
	addrs, err := p.addresses(m, node)
	if err != nil {
		return nil, err
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
	}, nil
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
	keys := []any{
		"node", node.Name, "vcenter", d.machine.Ref.VCenter, "moid", d.machine.Ref.ID,
		"region", d.metadata.Region, "zone", d.metadata.Zone,
	}
	var deciders []string
	for _, by := range d.placement.Decisions {
		deciders = append(deciders, by.Source())
	}
	log.Info("Placed Node", append(keys, "by", deciders)...)
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
