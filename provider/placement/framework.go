package placement

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/provider/instancetype"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// namesAgeRunning is how old names may be for a running Node to be written to, if the
// refresh interval is shorter.
const namesAgeRunning = 15 * time.Second

// Join decides about a Node that waits. The error says why the Node goes on waiting: Decision.Err, or the
// names of tags were not read recently. If only names are missing, Join has them read, because a tag may
// have been renamed, and no vCenter reports that. A Node gets everything or nothing: without its zone
// it would have Pods scheduled to it for good.
func (p *Placer) Join(node *v1.Node) (*Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.join(node)
}

func (p *Placer) join(node *v1.Node) (*Decision, error) {
	d := p.decide(node)
	names := &p.knownOf(node.UID).names
	old := p.namesBefore(d.in, time.Now().Add(-p.namesAge))
	if !old || d.Err != nil {
		*names = nameWait{} // it waits for nothing, or for something else
	}
	switch {
	case !old:
		return d, d.Err
	case d.Err == nil && !p.namesBefore(d.in, names.start()):
		// What was read since it began to wait serves, however slow the vCenter is.
		names.serve()
		return d, nil
	}
	p.fleet.ReadTags(d.in.VCenter)
	if d.Err != nil {
		return d, d.Err
	}
	err := topology.Errorf(topology.ErrUnknown, "the names of tags in vCenter %q are being read again, since one may have been renamed: the Node goes on then", d.in.VCenter)
	if down := d.in.CheckReachable(); down != nil {
		err = fmt.Errorf("%w; it cannot be read now: %w", err, down)
	}
	return d, err
}

// Initialize is Join for the framework, which writes Decision.Metadata: the Node's machine and
// addresses are no other Node's from now on. After an error the Node is refused.
func (p *Placer) Initialize(node *v1.Node) (*Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isThere(node) {
		return nil, topology.Errorf(topology.ErrUnknown, "Node %s is gone", node.Name)
	}
	d, err := p.join(node)
	if p.knownOf(node.UID).refused = err != nil; err == nil {
		p.reserve(node, d.Machine.UUID, d.Metadata.NodeAddresses)
	}
	return d, err
}

// metadata returns what the framework initializes a Node with, with the labels that every Node gets.
func (d *Decision) metadata(every map[string]string) *cloudprovider.InstanceMetadata {
	return &cloudprovider.InstanceMetadata{
		ProviderID:    nodeinfo.ProviderID(d.Machine.UUID),
		InstanceType:  instancetype.Of(d.Machine),
		NodeAddresses: d.Addresses.Addresses,
		Region:        d.Placement.Value(topology.LabelRegion),
		Zone:          d.Placement.Value(topology.LabelZone),

		AdditionalLabels: furtherLabels(d.Placement, every),
	}
}

// furtherLabels returns the labels of the levels that the framework writes, and the labels that every
// Node gets. The validation of the configuration ensures that no level has such a label.
func furtherLabels(placement topology.Placement, every map[string]string) map[string]string {
	levels := placement.Further()
	maps.DeleteFunc(levels, func(key, _ string) bool { return topology.IsReservedLevel(key) }) // it writes none of these
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

// Log logs what decided about a Node that is initialized.
func (d *Decision) Log(ctx context.Context, node *v1.Node) {
	log := klog.FromContext(ctx).V(2)
	if !log.Enabled() {
		return
	}
	var deciders []string
	for _, by := range d.Placement.Decisions {
		deciders = append(deciders, by.Source())
	}
	log.Info("Placed Node", "node", klog.KObj(node), "vCenter", d.Machine.Ref.VCenter, "moid", quote.Plain(d.Machine.Ref.ID),
		"region", d.Metadata.Region, "zone", d.Metadata.Zone, "by", deciders)
}

// namesBefore reports whether the names of tags that the configuration needs were read
// before a time. Where none could be read they were not.
func (p *Placer) namesBefore(in inventory.State, t time.Time) bool {
	categories := p.Topology().Policy.Categories()
	return len(categories) > 0 && !in.TagNames.ReadAt.IsZero() && !in.TagNames.ReadSince(t, categories)
}

// Readdress returns the addresses that an initialized Node gets. There are none if the Node keeps its
// addresses, for example because its machine is not certain. From now on no other Node gets them. The
// error says why the Node cannot get an address that it has to have.
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
