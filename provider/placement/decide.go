package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

var (
	// ErrShared means that another Node has the machine of a Node. It is in a
	// topology.ErrUnknown: nobody can tell which of the two runs on the machine.
	ErrShared = errors.New("two Nodes have one VM")
	// ErrQuiet means that a vCenter has not answered for a while, although nothing is known to
	// be wrong with it. It is in a topology.ErrUnknown.
	ErrQuiet = errors.New("checking whether the vCenter still answers")
)

// A Decision is all that is known of one Node at a moment. Nobody changes it.
type Decision struct {
	// Machine is the Node's machine. It is nil if the machine is not certain, or if the vCenter of an
	// initialized Node does not answer: see MachineErr.
	Machine *inventory.Machine
	// MachineErr says why the machine is not certain, or that another Node has it too. It is nil if
	// the machine is the Node's alone.
	MachineErr error
	// Shared reports whether another Node has the machine too. If that comes first, Machine is nil.
	Shared bool
	// VCenter is the name of the first entry of the machine's vCenter, as in Placement. It is empty if
	// no machine was found.
	VCenter string
	// WasFound reports whether vzones has found the machine of the initialized Node, now or before.
	WasFound bool
	// Annotations are to be written to the Node: they say where the machine is.
	Annotations map[string]string

	Placement topology.Placement
	// PlaceErr says why the Node has no placement. Without a machine it is MachineErr.
	PlaceErr error
	// Topology has the rules of the placement, also if there is no machine.
	Topology *config.Topology
	// NodeLabels are the labels that the configuration gives each Node.
	NodeLabels map[string]string

	// Addresses are chosen from the addresses of the machine. An initialized Node gets them only if
	// AddressesChange is true. AddressErr says why the Node cannot get an address that it has to have.
	Addresses       addresses.Selection
	AddressesChange bool
	AddressErr      error

	// InstanceType is the machine's. It is empty if the machine's configuration is not complete.
	InstanceType string
	// FormerType is the instance type that older releases wrote for the same machine, because they
	// had fewer names of guest systems. It is empty if it does not differ. A Node keeps it.
	FormerType string

	// Err says why the Node cannot be initialized, or could not if it waited. It is nil if it can.
	Err error
	// Metadata goes to the framework, which initializes the Node with it. It is nil if the Node is
	// initialized already, or if Err is not nil.
	Metadata *cloudprovider.InstanceMetadata

	// Contact is when the machine's vCenter last answered.
	Contact time.Time
	// OldNames reports whether a tag may have got another name since the names were read.
	// TagNamesReadAt is that time. It is zero if a name that is needed was not read.
	OldNames       bool
	TagNamesReadAt time.Time

	// in is the state of the machine's vCenter, zero if no machine was found, and states are all.
	in     inventory.State
	states []inventory.State
}

// Decide decides everything about a Node by the present states of the vCenters and of the other Nodes. It
// reserves nothing, and asks the fleet only about the home of a machine that is not shown. It remembers where
// the machine of an initialized Node was found.
func (p *Placer) Decide(node *v1.Node) *Decision {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.decide(node)
}

func (p *Placer) decide(node *v1.Node) *Decision {
	// The states first, so that a vCenter of a new configuration is not placed by the previous rules.
	states := p.fleet.States()
	cfg := p.Config()
	d := &Decision{Topology: &cfg.Topology, NodeLabels: cfg.NodeLabels, states: states}
	joins := nodeinfo.IsUninitialized(node)
	if k := p.memories.Kept(node.UID); k != nil && !joins {
		k.names = nameWait{}
	}
	at, err := p.locate(states, node)
	m := at.machine
	in := at.in
	lost := at.lost
	d.WasFound = !joins && (at.id.WasFound() || m != nil && lost == nil)
	if m != nil && (lost == nil || joins) {
		d.Annotations = location(states, node, m, in.Snapshot)
	}
	if err != nil {
		return d.fail(nodeinfo.WithRemedy(node, d.WasFound, err))
	}
	d.VCenter = inventory.FirstEntry(states, m.Ref.VCenter)
	d.Shared = at.sharing.any()
	d.MachineErr = at.sharing.whyShared()
	if len(at.sharing.before) > 0 {
		return d.fail(d.MachineErr)
	}
	d.in = in
	placement, placeErr := p.place(node, &d.Topology.Policy, states, m)
	if placeErr != nil {
		placeErr = fmt.Errorf("%s: %w", m.Ref.Located(m.InventoryPath), placeErr)
	}
	chosen, families, addressErr := newClaims(p, states).choose(m, node)
	for _, why := range []error{d.MachineErr, nodeinfo.CheckProviderID(node), tooOld(in, p.maxAge), placeErr, placement.NotRead(), addressErr} {
		if d.Err == nil {
			d.Err = why
		}
	}
	if lost != nil && !joins {
		d.MachineErr = lost
		d.PlaceErr = lost
		return d
	}
	d.Machine = m
	d.Placement = placement
	d.PlaceErr = placeErr
	d.Addresses = chosen
	d.AddressesChange = addressErr == nil
	d.AddressErr = addressErr
	if !joins {
		d.AddressesChange, d.AddressErr = changesAddresses(node, &chosen, families, addressErr)
	}
	d.InstanceType = knownInstanceType(m)
	d.FormerType = formerInstanceType(m)
	d.Contact = in.LastContact
	d.OldNames = d.namesBefore(time.Now().Add(-max(p.namesAge, namesAgeRunning)))
	// Otherwise a name that is needed was not read then.
	if !d.namesBefore(in.TagNames.ReadAt) {
		d.TagNamesReadAt = in.TagNames.ReadAt
	}
	if joins && d.Err == nil {
		d.Metadata = d.metadata(cfg.NodeLabels)
	}
	return d
}

// fail makes this the decision about a Node whose machine is not certain.
func (d *Decision) fail(err error) *Decision {
	d.MachineErr = err
	d.PlaceErr = err
	d.Err = err
	return d
}

// tooOld returns an error if a vCenter has not answered for so long that its machines may have moved, or if it is
// to be read again, so that its snapshot must not initialize a Node. The error names the limit and not the age, so that the text stays the
// same.
func tooOld(s inventory.State, maxAge time.Duration) error {
	if s.Outdated {
		return topology.Errorf(topology.ErrUnknown, "%w", s.CheckReachable())
	}
	if time.Since(s.LastContact) <= maxAge {
		return nil
	}
	reason := s.CheckReachable()
	if reason == nil {
		reason = ErrQuiet
	}
	if s.LastContact.IsZero() {
		return topology.Errorf(topology.ErrUnknown, "vCenter %q has not answered yet: %w", s.VCenter, reason)
	}
	return topology.Errorf(topology.ErrUnknown, "vCenter %q has not answered for more than %v, which is too long to initialize a Node by what it said: %w",
		s.VCenter, maxAge, reason)
}

// changesAddresses reports whether an initialized Node gets the addresses that were chosen, or returns the
// error. The Node keeps its addresses if they would be the same, or if VMware Tools report no addresses, for
// example while the machine starts, or too many. The kubelet of a Node without a provider ID writes the addresses.
func changesAddresses(node *v1.Node, chosen *addresses.Selection, families int, err error) (bool, error) {
	switch {
	case node.Spec.ProviderID == "":
		return false, nil
	case len(chosen.Unreported) == families, len(chosen.Unreported) > 0 && err == nil:
		return false, nil
	case err != nil:
		return false, err
	}
	return !addresses.Unchanged(node, chosen.Addresses), nil
}

// namesAgeRunning is how old names may be for a running Node to be written to, if the
// refresh interval is shorter.
const namesAgeRunning = 15 * time.Second

// Join decides about a Node that waits. The error says why the Node goes on waiting: Decision.Err, or the
// names of tags were not read recently. If only names are missing, Join has them read, because a tag may
// have been renamed, and no vCenter reports that. A Node gets everything or nothing: without its zone
// it would have Pods scheduled to it for good.
func (p *Placer) Join(node *v1.Node) (*Decision, error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.join(node)
}

// JoinAndReserve is Join for the framework, which writes Decision.Metadata: the Node's machine and addresses are no other
// Node's from now on.
func (p *Placer) JoinAndReserve(node *v1.Node) (*Decision, error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	if !p.nodes.Has(node) {
		return nil, topology.Errorf(topology.ErrUnknown, "Node %s is gone", node.Name)
	}
	d, err := p.join(node)
	if err == nil {
		p.reservations.add(node, d.Machine.UUID, d.Metadata.NodeAddresses)
	}
	return d, err
}

func (p *Placer) join(node *v1.Node) (*Decision, error) {
	d := p.decide(node)
	k := p.memories.Of(node)
	err := d.Err
	old := d.namesBefore(time.Now().Add(-p.namesAge))
	waitsForNames := old && err == nil
	if !waitsForNames {
		k.names = nameWait{}
	}
	switch {
	case !old:
	case err == nil && !d.namesBefore(k.names.start()):
		// What was read since it began to wait serves, however slow the vCenter is.
		k.names.serve()
	default:
		p.fleet.ReadTags(d.in.VCenter)
		if err == nil {
			err = topology.Errorf(topology.ErrUnknown, "the names of tags in vCenter %q are being read again, since one may have been renamed: the Node goes on then", d.in.VCenter)
			if down := d.in.CheckReachable(); down != nil {
				err = fmt.Errorf("%w; it cannot be read now: %w", err, down)
			}
		}
	}
	return d, err
}

// metadata returns what the framework initializes a Node with, with the labels that every Node gets. The
// validation of the configuration ensures that no level has such a label.
func (d *Decision) metadata(every map[string]string) *cloudprovider.InstanceMetadata {
	further := map[string]string{}
	maps.Copy(further, every)
	for label, value := range d.Placement.Further() {
		if !topology.IsReservedLevel(label) { // the framework writes none of these
			further[label] = value
		}
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    nodeinfo.ProviderID(d.Machine.UUID),
		InstanceType:  instanceType(d.Machine),
		NodeAddresses: d.Addresses.Addresses,
		Region:        d.Placement.Value(topology.LabelRegion),
		Zone:          d.Placement.Value(topology.LabelZone),

		AdditionalLabels: further,
	}
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

// namesBefore reports whether the names of tags that the configuration needs were read before a time. If no
// name could be read, it returns false.
func (d *Decision) namesBefore(t time.Time) bool {
	names := &d.in.TagNames
	categories := d.Topology.Policy.Categories()
	return len(categories) > 0 && !names.ReadAt.IsZero() && !names.ReadSince(t, categories)
}

// NewAddresses returns the addresses that an initialized Node gets, and reserves them. It returns none if the
// Node keeps its addresses, for example because its machine is not certain. Former is the annotation to be
// written with them. The error says why the Node cannot get an address that it has to have.
func (p *Placer) NewAddresses(node *v1.Node) (given []v1.NodeAddress, former string, err error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	if !p.nodes.Has(node) {
		return nil, "", nil
	}
	d := p.decide(node)
	if !d.AddressesChange || p.waitsForAddress(d.states, d.Machine, node) {
		return nil, "", d.AddressErr
	}
	p.reservations.add(node, inventory.UUID{}, d.Addresses.Addresses)
	return d.Addresses.Addresses, addresses.Former(node, d.Machine, d.Addresses.Addresses), nil
}

// IsShutDown reports whether a Node's VM is powered off or suspended, by a vCenter that can be read.
func (p *Placer) IsShutDown(node *v1.Node) (bool, error) {
	id, err := p.Identify(node)
	if err != nil {
		return false, err
	}
	if err := nodeinfo.Contradiction(node); err != nil {
		return false, err
	}
	power, err := inventory.PowerOf(p.fleet.States(), id)
	p.AskHome(err)
	return power.IsOff(), err
}

// location returns the annotations that say where a Node's machine is. It returns nil if the Node has them,
// or if they cannot name the machine.
func location(states []inventory.State, n *v1.Node, m *inventory.Machine, in *inventory.Snapshot) map[string]string {
	if !nodeinfo.IsUninitialized(n) {
		if id, err := nodeinfo.IdentityOf(n); err != nil || isRecorded(states, id, m, in) {
			return nil
		}
	}
	at := nodeinfo.FormatLocation(m.Ref)
	if nodeinfo.ParseLocation(at) != m.Ref {
		return nil
	}
	all := map[string]string{nodeinfo.KeyMachine: at}
	if in.Instance != "" {
		all[nodeinfo.KeyVCenter] = in.Instance
	}
	if !m.InstanceUUID.IsZero() {
		all[nodeinfo.KeyInstanceUUID] = m.InstanceUUID.String()
	}
	return all
}

// isRecorded reports whether a Node's annotations say where its machine is. They also do if they name another
// entry of the same vCenter and that entry fails now, so that an outage causes no write.
func isRecorded(states []inventory.State, id inventory.Identity, m *inventory.Machine, in *inventory.Snapshot) bool {
	if id.Recorded == m.Ref {
		return (id.RecordedInstance == in.Instance || in.Instance == "") && (id.RecordedVM == m.InstanceUUID || m.InstanceUUID.IsZero())
	}
	named := inventory.StateOf(states, id.Recorded.VCenter)
	return named.VCenter != "" && named.Err != nil && inventory.IsSameMachine(states, m.Ref, id.Recorded, id.RecordedInstance)
}
