package placement

import (
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// A reservation has the machine and the addresses that a Node was given and does not show yet.
type reservation struct {
	node      string
	machine   inventory.UUID
	addresses []netip.Addr
	at        time.Time
}

// reservations are those of all Nodes. The memories have them, and their lock is held.
type reservations struct {
	memories Memories
	// index has the Nodes whose memories have a reservation. One that is gone leaves it at the next look-up.
	index map[types.UID]bool
}

// add reserves addresses, and a machine unless that is zero, for a Node until the Node shows them. The
// lock has been held since the first look-up. So if two Nodes ask for the same at once, the second one finds
// what the first one got, either reserved or on the Node.
func (r *reservations) add(node *v1.Node, machine inventory.UUID, addresses []v1.NodeAddress) {
	if machine == (inventory.UUID{}) {
		machine = r.of(node.UID).machine // the informer may be behind
	}
	given := reservation{node: node.Name, machine: machine, at: time.Now()}
	for _, one := range addresses {
		// A host name is no address.
		if a, err := netip.ParseAddr(one.Address); err == nil {
			given.addresses = append(given.addresses, a)
		}
	}
	r.memories.Of(node).reserved = given
	r.index[node.UID] = true
}

// of returns what a Node was given and does not show yet, nothing after reservedFor.
func (r *reservations) of(node types.UID) reservation {
	if k := r.memory(node); k != nil && time.Since(k.reserved.at) < reservedFor {
		return k.reserved
	}
	return reservation{}
}

// memory returns the memory of a Node that has a reservation, nil for any other Node. The reservation of a Node
// that was forgotten ends.
func (r *reservations) memory(node types.UID) *Memory {
	if !r.index[node] {
		return nil
	}
	k := r.memories.Kept(node)
	if k == nil {
		delete(r.index, node)
	}
	return k
}

// by returns the name of another Node that was given an address, empty for none.
func (r *reservations) by(a netip.Addr, node *v1.Node) string {
	now := time.Now()
	for other := range r.index {
		k := r.memory(other)
		switch {
		case k == nil:
		case now.Sub(k.reserved.at) >= reservedFor:
			delete(r.index, other)
		case k.reserved.node != node.Name && slices.Contains(k.reserved.addresses, a):
			return k.reserved.node
		}
	}
	return ""
}

// NodeChanged ends a Node's reservation of what the Node shows.
func (p *Placer) NodeChanged(now *v1.Node) {
	p.memories.Lock()
	defer p.memories.Unlock()
	p.reservations.show(now)
}

// show ends the reservation of what a Node shows now.
func (r *reservations) show(now *v1.Node) {
	k := r.memory(now.UID)
	if k == nil {
		return
	}
	left := &k.reserved
	if !nodeinfo.IsUninitialized(now) {
		left.machine = inventory.UUID{}
	}
	shown := addresses.ClaimedBy(now)
	left.addresses = slices.DeleteFunc(left.addresses, func(a netip.Addr) bool { return slices.Contains(shown, a) })
	if left.machine == (inventory.UUID{}) && len(left.addresses) == 0 {
		delete(r.index, now.UID)
	}
}
