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

// A reservation contains the VM and addresses that a Node does not show yet.
type reservation struct {
	node      string
	vm        inventory.UUID
	addresses []netip.Addr
	madeAt    time.Time
}

// reservations requires the lock of memories.
type reservations struct {
	memories Memories
	// index contains the Nodes with reservations, and may contain deleted Nodes.
	index map[types.UID]bool
}

// add reserves addresses, and a VM unless it is zero, until the Node shows them. The caller has held the
// lock since its first lookup, so a competing Node finds them.
func (r *reservations) add(node *v1.Node, vm inventory.UUID, addresses []v1.NodeAddress) {
	if vm == (inventory.UUID{}) {
		// Keep the VM: the informer may not have the initialized Node yet.
		vm = r.get(node.UID).vm
	}
	given := reservation{node: node.Name, vm: vm, madeAt: time.Now()}
	for _, address := range addresses {
		if a, err := netip.ParseAddr(address.Address); err == nil {
			given.addresses = append(given.addresses, a)
		}
	}
	r.memories.Memory(node).reserved = given
	r.index[node.UID] = true
}

// get returns zero once the Node shows everything or reservedFor has passed.
func (r *reservations) get(node types.UID) reservation {
	if k := r.memory(node); k != nil && time.Since(k.reserved.madeAt) < reservedFor {
		return k.reserved
	}
	return reservation{}
}

// memory also removes a deleted Node from the index.
func (r *reservations) memory(node types.UID) *Memory {
	if !r.index[node] {
		return nil
	}
	k := r.memories.ExistingMemory(node)
	if k == nil {
		delete(r.index, node)
	}
	return k
}

func (r *reservations) holderOf(a netip.Addr, node *v1.Node) string {
	now := time.Now()
	for uid := range r.index {
		k := r.memory(uid)
		switch {
		case k == nil:
		case now.Sub(k.reserved.madeAt) >= reservedFor:
			delete(r.index, uid)
		case k.reserved.node != node.Name && slices.Contains(k.reserved.addresses, a):
			return k.reserved.node
		}
	}
	return ""
}

// ReleaseShown releases the parts of a reservation that the Node shows.
func (p *Placer) ReleaseShown(node *v1.Node) {
	p.memories.Lock()
	defer p.memories.Unlock()
	p.reservations.releaseShown(node)
}

func (r *reservations) releaseShown(node *v1.Node) {
	k := r.memory(node.UID)
	if k == nil {
		return
	}
	left := &k.reserved
	if !nodeinfo.IsUninitialized(node) {
		left.vm = inventory.UUID{}
	}
	shown := addresses.ClaimedBy(node)
	left.addresses = slices.DeleteFunc(left.addresses, func(a netip.Addr) bool { return slices.Contains(shown, a) })
	if left.vm == (inventory.UUID{}) && len(left.addresses) == 0 {
		delete(r.index, node.UID)
	}
}
