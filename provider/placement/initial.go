package placement

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/provider/identity"
	"vzones/provider/instancetype"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// namesAgeRunning is how old names may be for a running Node to be written to, if the
// refresh interval is shorter.
const namesAgeRunning = 15 * time.Second

// Initial is all that an uninitialized Node gets.
type Initial struct {
	// Machine is the Node's.
	Machine   *inventory.Machine
	Placement topology.Placement
	// Metadata is what the framework writes.
	Metadata *cloudprovider.InstanceMetadata
	// Location is where the machine is, for the Node's annotations.
	Location Location
	// Shared reports whether another Node, which has to wait for this one, has the machine.
	Shared bool
}

// Initialize is Initial for the framework, which writes what it returns: the Node's machine and
// addresses are no other Node's from now on. After an error the Node is refused.
func (p *Placer) Initialize(node *v1.Node) (*Initial, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isThere(node) {
		return nil, errGone
	}
	d, err := p.initial(node)
	if p.knownOf(node.UID).refused = err != nil; err == nil {
		p.reserve(node, d.Machine.UUID, d.Metadata.NodeAddresses)
	}
	return d, err
}

// Initial returns what a Node is to be initialized with, which is what is known if the
// names of tags were read recently. Otherwise it has them read again, since a tag may have
// been renamed, which no vCenter reports. It is all or nothing: a Node without its zone
// would have Pods scheduled to it for good.
func (p *Placer) Initial(node *v1.Node) (*Initial, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.initial(node)
}

func (p *Placer) initial(node *v1.Node) (*Initial, error) {
	d, in, err := p.describe(node)
	k := p.knownOf(node.UID)
	old := p.namesBefore(in, time.Now().Add(-p.namesAge))
	if !old || err != nil {
		k.names = nameWait{} // it waits for nothing, or for something else
	}
	if !old {
		return d, err
	}
	if err == nil {
		// What was read since it began to wait serves, however slow the vCenter is.
		if !p.namesBefore(in, k.names.start()) {
			k.names.serve()
			return d, nil
		}
		err = topology.Errorf(topology.ErrUnknown, "the names of tags in vCenter %q are being read again, since one may have been renamed: the Node goes on then", in.VCenter)
		if down := in.CheckReachable(); down != nil {
			err = fmt.Errorf("%w; it cannot be read now: %w", err, down)
		}
	}
	p.fleet.ReadTags(in.VCenter)
	return nil, err
}

// Describe is Initial without regard to the age of the names of tags, for Nodes in any state.
func (p *Placer) Describe(node *v1.Node) (*Initial, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, _, err := p.describe(node)
	return d, err
}

// describe is Describe, and returns the state of the machine's vCenter if it is known.
func (p *Placer) describe(node *v1.Node) (*Initial, inventory.State, error) {
	states := p.fleet.States()
	m, err := p.machine(states, node)
	shared := false
	if err == nil {
		shared, err = p.isShared(states, m, node)
	}
	if err != nil {
		return nil, inventory.State{}, err
	}
	in := inventory.StateOf(states, m.Ref.VCenter)
	if err := p.tooOld(in); err != nil {
		return nil, in, err
	}
	cfg := p.Config()
	placement, err := p.placementOf(node.UID, &cfg.Topology.Policy, states, m)
	if err != nil {
		return nil, in, fmt.Errorf("%s: %w", m.Ref.Located(m.InventoryPath), err)
	}
	addrs, err := p.newNodeAddresses(states, m, node)
	if err != nil {
		return nil, in, err
	}
	return &Initial{
		Machine:   m,
		Placement: placement,
		Metadata: &cloudprovider.InstanceMetadata{
			ProviderID:    identity.ProviderID(m.UUID),
			InstanceType:  instancetype.Of(m),
			NodeAddresses: addrs,
			Region:        placement.Value(topology.LabelRegion),
			Zone:          placement.Value(topology.LabelZone),

			AdditionalLabels: furtherLabels(placement, cfg.NodeLabels),
		},
		Location: locationOf(m, in.Snapshot),
		Shared:   shared,
	}, in, nil
}

// Log logs what decided about a Node.
func (d *Initial) Log(ctx context.Context, node *v1.Node) {
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

// furtherLabels are those of the levels that the framework writes, and those that every
// Node gets. No level has a label of the latter, which the validation of the configuration
// ensures.
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

// namesBefore reports whether the names of tags that the configuration needs were read
// before a time. Where none could be read they were not.
func (p *Placer) namesBefore(in inventory.State, t time.Time) bool {
	categories := p.Topology().Policy.Categories()
	return len(categories) > 0 && !in.TagNames.ReadAt.IsZero() && !in.TagNames.ReadSince(t, categories)
}

// namesTooOld is namesBefore for the labels of a running Node.
func (p *Placer) namesTooOld(in inventory.State) bool {
	return p.namesBefore(in, time.Now().Add(-max(p.namesAge, namesAgeRunning)))
}
