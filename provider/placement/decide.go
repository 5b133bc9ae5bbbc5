package placement

import (
	"cmp"
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

// Errors that wrap these also wrap topology.ErrUnknown.
var (
	// ErrShared means that another Node has the VM.
	ErrShared = errors.New("two Nodes have one VM")
	// ErrQuiet means that a vCenter has not answered recently.
	ErrQuiet = errors.New("checking whether the vCenter still answers")
)

// A Decision contains everything known about a Node at one moment. It is immutable.
type Decision struct {
	// VM is nil if it is absent or uncertain, if another Node with the same VM takes precedence, or if an initialized
	// Node's vCenter does not answer.
	VM *inventory.VM
	// VMErr is the reason for a nil VM, or an ErrShared.
	VMErr error
	// Shared means that another Node has the VM. VM is nil if that Node takes precedence.
	Shared bool
	// VCenter is the name of the first configuration entry for the VM's vCenter.
	VCenter string
	// WasFound means that vzones has found the initialized Node's VM, now or earlier.
	WasFound bool
	// Annotations record the VM's location. They are nil if an initialized Node already has them.
	Annotations map[string]string

	Placement topology.Placement
	PlaceErr  error
	// Topology is set even without a VM.
	Topology   *config.Topology
	NodeLabels map[string]string

	// An initialized Node gets Addresses only if AddressesChange is true. AddressErr is the reason why no addresses could
	// be chosen, or nil.
	Addresses       addresses.Selection
	AddressesChange bool
	AddressErr      error

	// InstanceType is empty if the VM's configuration is incomplete.
	InstanceType string
	// FormerType is the instance type that the vSphere CPI before 1.37 gives the VM, if it differs. An initialized Node
	// with this type keeps it.
	FormerType string

	// Err is the reason why an initialization would fail now, or nil. It is also set for initialized Nodes.
	Err error
	// Metadata is nil if the Node is already initialized or Err is not nil.
	Metadata *cloudprovider.InstanceMetadata

	LastContact time.Time
	// HasOldTagNames means that a tag may have been renamed since its name was read. TagNamesReadAt is the time at which
	// the tag names of all required categories were read. It is zero if the names of a category were not read.
	HasOldTagNames bool
	TagNamesReadAt time.Time

	vcenterState inventory.State
	states       []inventory.State
}

// Decide decides about a Node and reserves nothing, but remembers where it found an initialized Node's VM.
func (p *Placer) Decide(node *v1.Node) *Decision {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.decideLocked(node)
}

func (p *Placer) decideLocked(node *v1.Node) *Decision {
	// Read the states before the configuration, so that the old rules never apply to a new configuration's vCenter.
	states := p.fleet.States()
	cfg := p.Config()
	d := &Decision{Topology: &cfg.Topology, NodeLabels: cfg.NodeLabels, states: states}
	isJoining := nodeinfo.IsUninitialized(node)
	if k := p.memories.ExistingMemory(node.UID); k != nil && !isJoining {
		k.names = nameWait{}
	}
	loc, err := p.locate(states, node)
	m := loc.vm
	state := loc.state
	vcenterErr := loc.unreachable
	d.WasFound = !isJoining && (loc.id.WasFound() || m != nil && vcenterErr == nil)
	if m != nil && (vcenterErr == nil || isJoining) {
		d.Annotations = locationAnnotations(states, node, m, state.Snapshot)
	}
	if err != nil {
		return d.fail(nodeinfo.WithRemedy(node, d.WasFound, !cfg.SkipNodeDeletion, err))
	}
	d.VCenter = inventory.FirstEntry(states, m.Ref.VCenter)
	d.Shared = loc.sharing.isShared()
	d.VMErr = loc.sharing.whyShared()
	if len(loc.sharing.earlier) > 0 {
		return d.fail(d.VMErr)
	}
	d.vcenterState = state
	placement, placeErr := p.place(node, &d.Topology.Policy, states, m)
	if placeErr != nil {
		placeErr = fmt.Errorf("%s: %w", m.Ref.Located(m.InventoryPath), placeErr)
	}
	chosen, familyCount, addressErr := newClaimFinder(p, states).choose(m, node)
	// A Node stays uninitialized for the first of these reasons.
	d.Err = cmp.Or(d.VMErr, nodeinfo.CheckProviderID(node), checkAge(state, p.maxAge), placeErr, placement.NotRead(), addressErr)
	if vcenterErr != nil && !isJoining {
		d.VMErr = vcenterErr
		d.PlaceErr = vcenterErr
		return d
	}
	d.VM = m
	d.Placement = placement
	d.PlaceErr = placeErr
	d.Addresses = chosen
	d.AddressesChange = addressErr == nil
	d.AddressErr = addressErr
	if !isJoining {
		d.AddressesChange, d.AddressErr = changedAddresses(node, &chosen, familyCount, addressErr)
	}
	d.InstanceType = knownInstanceType(m)
	d.FormerType = formerInstanceType(m)
	d.LastContact = state.LastContact
	d.HasOldTagNames = d.tagNamesPredate(time.Now().Add(-max(p.namesAge, minNamesAgeLimit)))
	if !d.tagNamesPredate(state.TagNames.ReadAt) {
		d.TagNamesReadAt = state.TagNames.ReadAt
	}
	if isJoining && d.Err == nil {
		d.Metadata = d.metadata(cfg.NodeLabels)
	}
	return d
}

func (d *Decision) fail(err error) *Decision {
	d.VMErr = err
	d.PlaceErr = err
	d.Err = err
	return d
}

// CheckPower returns an inventory.ErrPoweredOff if the Node is not ready and its VM is off.
func (d *Decision) CheckPower(node *v1.Node) error {
	if d.VM == nil || !d.VM.Power.IsOff() || nodeinfo.IsReady(node) {
		return nil
	}
	state := "powered off"
	if d.VM.Power == inventory.PowerSuspended {
		state = "suspended"
	}
	return topology.Errorf(inventory.ErrPoweredOff, "%s is %s: power it on", d.VM.Ref.Located(d.VM.InventoryPath), state)
}

// checkAge returns an error if the state is outdated or its last contact is older than maxAge. The error does not contain
// the age, so that its text is stable.
func checkAge(s inventory.State, maxAge time.Duration) error {
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
	return topology.Errorf(topology.ErrUnknown, "vCenter %q has not answered for more than %v, so its data is too old to initialize a Node: %w",
		s.VCenter, maxAge, reason)
}

// checkAnswered returns an error if a readable vCenter has not answered since the time at which a joining Node's VM was
// first missing in all snapshots: a VM that was just created may not be in them yet.
func checkAnswered(states []inventory.State, since time.Time) error {
	var reasons []error
	for _, s := range states {
		if s.Err == nil && s.LastContact.Before(since) {
			reasons = append(reasons, fmt.Errorf("vCenter %q has not answered since the VM was first missing: %w", s.VCenter, ErrQuiet))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return topology.Errorf(topology.ErrUnknown, "%w", quote.Errors(quote.Most, reasons...))
}

// changedAddresses reports whether an initialized Node gets other addresses. It returns false and no error in three cases:
// the Node has no provider ID (then the kubelet writes the addresses); no family has a reported address; or some family has
// none and the choice succeeded.
func changedAddresses(node *v1.Node, chosen *addresses.Selection, families int, err error) (bool, error) {
	switch {
	case node.Spec.ProviderID == "":
		return false, nil
	case len(chosen.UnreportedFamilies) == families, len(chosen.UnreportedFamilies) > 0 && err == nil:
		return false, nil
	case err != nil:
		return false, err
	}
	return !addresses.Unchanged(node, chosen.Addresses), nil
}

// minNamesAgeLimit is the lower bound for the age limit of tag names for an initialized Node.
const minNamesAgeLimit = 15 * time.Second

// Join decides about an uninitialized Node. The error is Decision.Err, or reports that the tag names are being
// read again, which is necessary because vCenter does not announce renamed tags.
func (p *Placer) Join(node *v1.Node) (*Decision, error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.joinLocked(node)
}

// JoinAndReserve is Join for the framework, and reserves the VM and the addresses.
func (p *Placer) JoinAndReserve(node *v1.Node) (*Decision, error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	if !p.nodes.Has(node) {
		return nil, topology.Errorf(topology.ErrUnknown, "Node %s is gone", node.Name)
	}
	d, err := p.joinLocked(node)
	if err == nil {
		p.reservations.add(node, d.VM.UUID, d.Metadata.NodeAddresses)
		p.memories.Memory(node).initialHostName = addresses.HostNameIn(d.Metadata.NodeAddresses)
	}
	return d, err
}

func (p *Placer) joinLocked(node *v1.Node) (*Decision, error) {
	d := p.decideLocked(node)
	k := p.memories.Memory(node)
	if errors.Is(d.Err, topology.ErrAbsent) {
		if err := checkAnswered(d.states, k.firstAbsent()); err != nil {
			d.fail(err)
		}
	} else {
		k.absentSince = time.Time{}
	}
	err := d.Err
	namesTooOldToJoin := d.tagNamesPredate(time.Now().Add(-p.namesAge))
	waitsForNames := namesTooOldToJoin && err == nil
	if !waitsForNames {
		k.names = nameWait{}
	}
	switch {
	case !namesTooOldToJoin:
	case err == nil && !d.tagNamesPredate(k.names.start()):
		k.names.markRead()
	default:
		p.fleet.ReadTags(d.vcenterState.VCenter)
		if err == nil {
			err = topology.Errorf(topology.ErrUnknown, "the tag names of vCenter %q are being read again, since a tag may have been renamed: the Node is initialized after that", d.vcenterState.VCenter)
			if down := d.vcenterState.CheckReachable(); down != nil {
				err = fmt.Errorf("%w; the vCenter cannot be read: %w", err, down)
			}
		}
	}
	return d, err
}

func (d *Decision) metadata(configuredLabels map[string]string) *cloudprovider.InstanceMetadata {
	further := map[string]string{}
	maps.Copy(further, configuredLabels)
	for label, value := range d.Placement.Further() {
		// The framework discards reserved labels.
		if !topology.IsReservedLevel(label) {
			further[label] = value
		}
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    nodeinfo.ProviderID(d.VM.UUID),
		InstanceType:  instanceType(d.VM),
		NodeAddresses: d.Addresses.Addresses,
		Region:        d.Placement.Value(topology.LabelRegion),
		Zone:          d.Placement.Value(topology.LabelZone),

		AdditionalLabels: further,
	}
}

// Log logs the placement of a Node that is being initialized.
func (d *Decision) Log(ctx context.Context, node *v1.Node) {
	log := klog.FromContext(ctx).V(2)
	if !log.Enabled() {
		return
	}
	var sources []string
	for _, decision := range d.Placement.Decisions {
		sources = append(sources, decision.Source())
	}
	log.Info("Placed Node", "node", klog.KObj(node), "vCenter", d.VM.Ref.VCenter, "moid", quote.Plain(d.VM.Ref.ID),
		"region", d.Metadata.Region, "zone", d.Metadata.Zone, "by", sources)
}

func (d *Decision) tagNamesPredate(t time.Time) bool {
	names := &d.vcenterState.TagNames
	categories := d.Topology.Policy.Categories()
	return len(categories) > 0 && !names.ReadAt.IsZero() && !names.ReadSince(t, categories)
}

// NewAddresses returns and reserves new addresses of an initialized Node, if any, and the annotation to write
// with them.
func (p *Placer) NewAddresses(node *v1.Node) (given []v1.NodeAddress, former string, err error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	if !p.nodes.Has(node) {
		return nil, "", nil
	}
	d := p.decideLocked(node)
	if !d.AddressesChange || p.isWaitingForAddress(d.states, d.VM, node) {
		return nil, "", d.AddressErr
	}
	p.reservations.add(node, inventory.UUID{}, d.Addresses.Addresses)
	return d.Addresses.Addresses, addresses.Former(node, d.VM, d.Addresses.Addresses), nil
}

// IsShutDown reports whether a Node's VM is powered off or suspended.
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
