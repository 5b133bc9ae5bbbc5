package placement

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/identity"
	"vzones/vcenter/inventory"
)

// Seen is where the machine of an initialized Node was found by a vCenter that is in
// contact.
type Seen struct {
	Machine *inventory.Machine
	// Location is what the Node's annotation has to be, empty if nothing is to be written.
	Location string
	// VCenter is the own UUID of the machine's vCenter, empty if that does not tell it.
	VCenter string

	states []inventory.State
}

// See finds the machine of an initialized Node and remembers that.
func (p *Placer) See(n *v1.Node) (Seen, error) {
	states := p.fleet.States()
	named, err := p.named(states, n)
	m, in, err := reached(states, named, err)
	if err != nil {
		return Seen{}, err
	}
	p.NoteSeen(n.UID, inventory.Sighting{VCenter: in.VCenter, ID: m.Ref.ID, At: in.Contact, Instance: in.Snapshot.Instance})
	p.lastSeen.noteBacked(n, m)
	seen := Seen{Machine: m, states: states}
	if n.Spec.ProviderID == "" {
		return seen, nil
	}
	if id, err := identity.Of(n); err == nil && !isRecorded(states, id, m, in.Snapshot) && identity.ParseLocation(identity.FormatLocation(m.Ref)) == m.Ref {
		seen.Location, seen.VCenter = identity.FormatLocation(m.Ref), in.Snapshot.Instance
	}
	return seen, nil
}

// NoteSeen remembers where the machine of a Node was seen.
func (p *Placer) NoteSeen(node types.UID, at inventory.Sighting) { p.lastSeen.note(node, at) }

// Shared returns which other Nodes have the machine of a Node.
func (p *Placer) Shared(n *v1.Node, seen Seen) (Sharing, error) {
	return p.shared(seen.states, seen.Machine, n)
}

// StartSearch notes that the machine of a Node is searched for from now on, if it was not
// before, and returns how long that still may take.
func (p *Placer) StartSearch(node types.UID) time.Duration { return p.lastSeen.startSearch(node) }

// isRecorded says whether a Node tells where its machine is. One that names another entry
// of the same vCenter, which is in trouble just now, does: it is not written for each outage.
func isRecorded(states []inventory.State, id inventory.Identity, m *inventory.Machine, in *inventory.Snapshot) bool {
	if id.Known == m.Ref {
		return id.KnownIn == in.Instance || in.Instance == ""
	}
	named := inventory.StateOf(states, id.Known.VCenter)
	return named.VCenter != "" && named.Trouble != nil && inventory.IsShown(states, m.Ref, id.Known, id.KnownIn)
}
