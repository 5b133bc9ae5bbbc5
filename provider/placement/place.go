package placement

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/identity"
	"vzones/provider/instancetype"
	"vzones/provider/keys"
	"vzones/provider/nodestate"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Place is where an initialized Node is, and what is wrong with that.
type Place struct {
	// Machine is nil if nothing can be said: see Problem.
	Machine *inventory.Machine
	// Problem is what a person has to know of the Node's machine: why it is not known, or
	// that another Node has it too. It is nil if there is nothing, and does not contain the
	// error of the placement.
	Problem error
	// Later reports whether another Node that has the machine comes first. Then Machine is
	// nil, and VCenter the vCenter that has it.
	Later bool
	// VCenter is what the vCenter is called in Placement, which has the name of its first
	// entry where it is configured several times; empty if that is the machine's.
	VCenter   string
	Placement topology.Placement
	// Location is what the Node's annotations have to be, zero if nothing is to be written.
	Location Location
	// InstanceType is what the machine is, empty if its configuration does not say all of it.
	InstanceType string
	// FormerType is what was written for the same machine before the names of guest systems
	// got more, empty if that is the same. A Node keeps it.
	FormerType string
	// Contact is when the machine's vCenter last answered.
	Contact time.Time
	// OldNames reports whether a tag may have got another name since the names were read,
	// which was at TagNamesReadAt, zero if not all of them were.
	OldNames       bool
	TagNamesReadAt time.Time
	// Topology is what the placement was decided by, machine or not.
	Topology *config.Topology
}

// Location is where a machine is, as a Node's annotations have it.
type Location struct {
	Machine string
	// VCenter is the own UUID of the machine's vCenter, empty if that is not known.
	VCenter string
}

// Annotations returns those that say this, none for the zero value.
func (l Location) Annotations() map[string]string {
	all := map[string]string{}
	if l.Machine != "" {
		all[keys.Machine] = l.Machine
	}
	if l.VCenter != "" {
		all[keys.VCenter] = l.VCenter
	}
	return all
}

// Place returns where an initialized Node is, by a vCenter that is in contact, and remembers
// that. The error is that of the placement if there is a machine, and otherwise why there is
// none.
func (p *Placer) Place(node *v1.Node) (Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// In this order: what vCenters have come with a configuration is not placed by the
	// previous one.
	states := p.fleet.States()
	place := Place{Topology: p.Topology()}
	p.knownOf(node.UID).names = nameWait{} // it waits for none any more
	m, in, err := p.find(states, node)
	if err == nil {
		place.Location = location(states, node, m, in.Snapshot)
	}
	if place.Problem = identity.WithContradiction(node, err); place.Problem != nil {
		return place, place.Problem
	}
	shared, err := p.shared(states, m, node)
	if err == nil {
		err = shared.err()
	}
	place.Problem, place.Later = err, shared.isLater()
	if err != nil && (place.Later || !shared.any()) {
		place.VCenter = m.Ref.VCenter
		return place, err
	}
	place.Machine, place.Contact = m, in.LastContact
	place.InstanceType, place.FormerType = instancetype.IfKnown(m), instancetype.Former(m)
	if place.OldNames = p.namesTooOld(in); !p.namesBefore(in, in.TagNames.ReadAt) {
		place.TagNamesReadAt = in.TagNames.ReadAt // of all that are needed
	}
	place.VCenter = inventory.FirstEntry(states, m.Ref.VCenter)
	if place.Placement, err = p.placementOf(node.UID, &place.Topology.Policy, states, m); err != nil {
		err = fmt.Errorf("%s: %w", m.Ref.Located(m.InventoryPath), err)
	}
	return place, err
}

// Observe returns the machine that a Node has to itself by these states, nil if that is not
// known or another Node has it too. For as long as the machine is the same, the Node has the
// same place. Where the machine of an initialized Node is found is remembered.
func (p *Placer) Observe(states []inventory.State, node *v1.Node) *inventory.Machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	var m *inventory.Machine
	var err error
	if nodestate.IsUninitialized(node) {
		m, err = p.machine(states, node)
	} else {
		if m, _, err = p.find(states, node); err == nil {
			err = identity.Contradiction(node)
		}
	}
	if err != nil {
		return nil
	}
	if shared, err := p.shared(states, m, node); err != nil || shared.any() {
		return nil
	}
	return m
}

// find finds the machine that an initialized Node names in a vCenter that is in contact, and
// remembers that.
func (p *Placer) find(states []inventory.State, n *v1.Node) (*inventory.Machine, inventory.State, error) {
	named, err := p.named(states, n)
	m, in, err := reached(states, named, err)
	if err == nil {
		k := p.knownOf(n.UID)
		k.lastSeen = inventory.LastSeen{VCenter: in.VCenter, ID: m.Ref.ID, At: in.LastContact, Instance: in.Snapshot.Instance, Name: m.Name}
		k.confirm(n, m)
	}
	return m, in, err
}

// location returns what is to be written onto a Node of where its machine is.
func location(states []inventory.State, n *v1.Node, m *inventory.Machine, in *inventory.Snapshot) Location {
	if n.Spec.ProviderID == "" {
		return Location{}
	}
	if id, err := identity.Of(n); err != nil || isRecorded(states, id, m, in) {
		return Location{}
	}
	return locationOf(m, in)
}

// locationOf returns where a machine is, zero if annotations cannot say that.
func locationOf(m *inventory.Machine, in *inventory.Snapshot) Location {
	at := identity.FormatLocation(m.Ref)
	if identity.ParseLocation(at) != m.Ref {
		return Location{}
	}
	return Location{Machine: at, VCenter: in.Instance}
}

// isRecorded reports whether a Node says where its machine is. One that names another entry
// of the same vCenter, which fails just now, does: it is not written for each outage.
func isRecorded(states []inventory.State, id inventory.Identity, m *inventory.Machine, in *inventory.Snapshot) bool {
	if id.Recorded == m.Ref {
		return id.RecordedInstance == in.Instance || in.Instance == ""
	}
	named := inventory.StateOf(states, id.Recorded.VCenter)
	return named.VCenter != "" && named.Err != nil && inventory.IsSameMachine(states, m.Ref, id.Recorded, id.RecordedInstance)
}
