package placement

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/addresses"
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

// A Memory contains the facts about one Node that this process remembers and the Node does not report. The zero value is
// the memory of a new Node.
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
	// reserved is the Node's last reservation. It counts while the Node is in the index of reservations.
	reserved reservation
	names    nameWait
	placed   placed
	// absence is the search of every vCenter for a machine that no snapshot has, nil if none was wanted.
	absence *search
	// outside is the search for it in all datacenters that are not configured, nil if none was wanted.
	outside *search
}

// Memories contains the memory of each Node, under one lock. It is nodes.Store.
type Memories interface {
	sync.Locker
	// Of returns the memory of a Node, to be read and changed under the lock. It is kept until the Node is deleted.
	Of(*v1.Node) *Memory
	// Kept returns the memory of a Node, nil if there is none.
	Kept(types.UID) *Memory
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
	k.confirmedBy.node = node
	k.confirmedBy.machine = m
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
	k.confirmed = now
	k.lost = lost
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
