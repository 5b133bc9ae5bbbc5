package placement

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/instancetype"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Place is where an initialized Node is.
type Place struct {
	// Machine is nil if nothing can be said: see Lookup.
	Machine *inventory.Machine
	// Lookup is why the machine, or that it is this Node's, is not known.
	Lookup error
	// VCenter is what the vCenter is called in Placement, which has the name of its first
	// entry where it is configured several times; empty if that is the machine's.
	VCenter   string
	Placement topology.Placement
	// InstanceType is what the machine is, empty if its configuration does not tell.
	InstanceType string
	// FormerType is what was written for the same machine before the names of guest systems
	// got more, empty if that is the same. A Node keeps it.
	FormerType string
	// Contact is when the machine's vCenter last answered.
	Contact time.Time
	// OldNames reports whether a tag may have got another name since the names were read,
	// which was at Named, zero if not all of them were.
	OldNames bool
	Named    time.Time
	// Topology is what the placement was decided by, machine or not.
	Topology *config.Topology
}

// Place returns where an initialized Node is, by a vCenter that is in contact.
// Without a machine, the error is Lookup; with one, it is that of its placement.
func (p *Placer) Place(node *v1.Node) (Place, error) {
	// In this order: what vCenters have come with a configuration is not placed by the
	// one before.
	states := p.fleet.States()
	place := Place{Topology: p.Topology()}
	m, in, err := p.inContact(states, node)
	if err == nil {
		err = p.unshared(states, m, node)
	}
	if err != nil {
		place.Lookup = err
		return place, err
	}
	return p.placeIn(place, states, in, m, node)
}

// placeIn completes the place of a Node whose machine is known.
func (p *Placer) placeIn(place Place, states []inventory.State, in inventory.State, m *inventory.Machine, node *v1.Node) (Place, error) {
	place.Machine, place.Contact = m, in.Contact
	place.InstanceType, place.FormerType = instancetype.IfKnown(m), instancetype.Former(m)
	if place.OldNames = p.namesTooOld(in); !p.namesBefore(in, in.Named.At) {
		place.Named = in.Named.At // of all that are needed
	}
	place.VCenter = inventory.First(states, m.Ref.VCenter)
	var err error
	place.Placement, err = p.placements.resolve(node.UID, &place.Topology.Policy, states, m)
	return place, err
}

// Machine returns the machine in the result of Place, or nil.
func (p *Placer) Machine(node *v1.Node) *inventory.Machine {
	states := p.fleet.States()
	m, _, err := p.inContact(states, node)
	if err != nil || p.unshared(states, m, node) != nil {
		return nil
	}
	return m
}
