package placement

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

const (
	// reservedFor is the longest time for which a machine and addresses are reserved for a Node that
	// was given them and does not show them yet.
	reservedFor = time.Minute
	// namesServeFor is how long names of tags are good for a Node that waited for them, although they
	// take longer to read than the refresh interval.
	namesServeFor = time.Minute
)

// A Memory is what this process remembers of one Node beyond what the Node says. The zero value is that of a new Node.
type Memory struct {
	// lastSeen is where and when the machine was found last.
	lastSeen inventory.LastSeen
	// readyWithoutHome is the time since which the Node has been ready while its home was off, zero if it is
	// not so.
	readyWithoutHome time.Time
	// seen is Identity.Seen.
	seen bool
	// confirmed are the addresses that the Node claims and that its machine had at the last reading.
	confirmed []netip.Addr
	// confirmedBy has the Node and the machine that confirmed and lost follow from.
	confirmedBy struct {
		node    *v1.Node
		machine *inventory.Machine
	}
	// lost has the claimed addresses that the machine, if it is not powered off, stopped reporting while
	// it reports others, and the time of that.
	lost map[netip.Addr]time.Time
	// reserved is the Node's last reservation. It counts while the placer has the memory in reserving.
	reserved reservation
	names    nameWait
	placed   placed
	// absence is the search for a machine that no snapshot has, outside the one outside of the configured datacenters. They
	// are nil if nobody has asked.
	absence, outside *search
}

// Memories are what is remembered of all Nodes, under one lock.
type Memories interface {
	sync.Locker
	// Of returns what is remembered of a Node, to be read and changed under the lock. It is kept for as long as the Node is
	// there.
	Of(*v1.Node) *Memory
	// Kept returns what is remembered of a Node, nil if that is nothing.
	Kept(types.UID) *Memory
}

// A reservation has the machine and the addresses that a Node was given and does not show yet.
type reservation struct {
	node      string
	machine   inventory.UUID
	addresses []netip.Addr
	at        time.Time
}

// nameWait is the wait of a Node for names of tags. It began at the time began, zero if the Node does not
// wait for names alone. At the time served, names read since then first were good for the Node, zero before.
type nameWait struct{ began, served time.Time }

// start returns when the Node began to wait. If it did not wait, or names were good for it long ago, it
// begins now.
func (w *nameWait) start() time.Time {
	if w.began.IsZero() || !w.served.IsZero() && time.Since(w.served) > namesServeFor {
		*w = nameWait{began: time.Now()}
	}
	return w.began
}

// serve notes that names were read since the Node began to wait.
func (w *nameWait) serve() {
	if w.served.IsZero() {
		w.served = time.Now()
	}
}

// confirm notes which of the Node's claimed addresses the machine has, and which it has lost. An address
// that is unclear stays what it was.
func (k *Memory) confirm(node *v1.Node, m *inventory.Machine) {
	if k.confirmedBy.node == node && k.confirmedBy.machine == m {
		return
	}
	k.confirmedBy.node, k.confirmedBy.machine = node, m
	var now []netip.Addr
	lost := map[netip.Addr]time.Time{}
	for _, a := range addresses.ClaimedBy(node) {
		is, _ := addresses.Back(m, a)
		if is == addresses.Unbacked && m.Power != inventory.PowerOff {
			if lost[a] = k.lost[a]; lost[a].IsZero() {
				lost[a] = time.Now()
			}
		}
		if is == addresses.Backed || is == addresses.Unclear && slices.Contains(k.confirmed, a) {
			now = append(now, a)
		}
	}
	k.confirmed, k.lost = now, lost
}

// nothing is known of a Node that is new.
var nothing Memory

// kept returns what is remembered of a Node, not to be changed.
func (p *Placer) kept(node types.UID) *Memory {
	if k := p.memories.Kept(node); k != nil {
		return k
	}
	return &nothing
}

// reserve reserves addresses, and a machine unless that is zero, for a Node until the Node shows them. The
// lock has been held since the first look-up. So if two Nodes ask for the same at once, the second one finds
// what the first one got, either reserved or on the Node.
func (p *Placer) reserve(node *v1.Node, machine inventory.UUID, given []v1.NodeAddress) {
	if machine == (inventory.UUID{}) {
		machine = p.reservationOf(node.UID).machine // the informer may be behind
	}
	r := reservation{node: node.Name, machine: machine, at: time.Now()}
	for _, one := range given {
		if a, err := netip.ParseAddr(one.Address); err == nil { // it may be a host name
			r.addresses = append(r.addresses, a)
		}
	}
	k := p.memories.Of(node)
	k.reserved = r
	p.reserving[node.UID] = k
}

// reservationOf returns what a Node was given and does not show yet, nothing after reservedFor.
func (p *Placer) reservationOf(node types.UID) reservation {
	if k := p.reservingOf(node); k != nil && time.Since(k.reserved.at) < reservedFor {
		return k.reserved
	}
	return reservation{}
}

// reservingOf returns the memory of a Node that has a reservation, nil for any other Node. The reservation of a Node
// that was forgotten ends.
func (p *Placer) reservingOf(node types.UID) *Memory {
	k := p.reserving[node]
	if k != nil && p.memories.Kept(node) != k {
		delete(p.reserving, node)
		return nil
	}
	return k
}

// reservedBy returns the name of another Node that was given an address, empty for none.
func (p *Placer) reservedBy(a netip.Addr, node *v1.Node) string {
	now := time.Now()
	for other := range p.reserving {
		k := p.reservingOf(other)
		switch {
		case k == nil:
		case now.Sub(k.reserved.at) >= reservedFor:
			delete(p.reserving, other)
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
	k := p.reservingOf(now.UID)
	if k == nil {
		return
	}
	r := &k.reserved
	if !nodeinfo.IsUninitialized(now) {
		r.machine = inventory.UUID{}
	}
	shown := addresses.ClaimedBy(now)
	r.addresses = slices.DeleteFunc(r.addresses, func(a netip.Addr) bool { return slices.Contains(shown, a) })
	if r.machine == (inventory.UUID{}) && len(r.addresses) == 0 {
		delete(p.reserving, now.UID)
	}
}
