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
	// reservedFor limits the reservation of a VM and addresses that the Node does not show yet.
	reservedFor = time.Minute
	// namesServeFor is how long tag names that were read during a Node's wait remain valid for that
	// Node, even if a read takes longer than the refresh interval.
	namesServeFor = time.Minute
)

// A Memory contains the facts about one Node that this process remembers and the Node does not report. The zero value is
// the memory of a new Node.
type Memory struct {
	// lastSeen is the place and time of the VM's last sighting.
	lastSeen inventory.LastSeen
	// readyWithoutHome is when the Node was first seen ready while its home is powered off, or zero.
	readyWithoutHome time.Time
	// seen is Identity.Seen.
	seen bool
	// confirmed are the addresses that the Node claims and its VM had when last read.
	confirmed []netip.Addr
	// confirmedBy is the input from which confirmed and lost were computed.
	confirmedBy struct {
		node    *v1.Node
		machine *inventory.Machine
	}
	// lost maps each claimed address to the time at which the VM stopped reporting it, while the VM is
	// not powered off and reports other addresses.
	lost map[netip.Addr]time.Time
	// reserved is the Node's last reservation. It is valid while the Node is in reservations.index.
	reserved reservation
	names    nameWait
	placed   placed
	// absence is the search of every vCenter for a VM that no snapshot has, or nil.
	absence *search
	// outside is the search for that VM in all datacenters that are not configured, or nil.
	outside *search
}

// Memories contains the memory of each Node, under one lock. nodes.Store implements it.
type Memories interface {
	sync.Locker
	// Of returns the memory of a Node, for use under the lock. It exists until the Node is deleted.
	Of(*v1.Node) *Memory
	// Kept returns the memory of a Node, or nil if there is none.
	Kept(types.UID) *Memory
}

// nameWait is a Node's wait for tag names. began is zero unless tag names are all that the Node waits for.
// served is the first time at which names read since began were available, or zero.
type nameWait struct{ began, served time.Time }

// start returns the start of the wait. A new wait begins if there is none, or if names became available
// more than namesServeFor ago.
func (w *nameWait) start() time.Time {
	if w.began.IsZero() || !w.served.IsZero() && time.Since(w.served) > namesServeFor {
		*w = nameWait{began: time.Now()}
	}
	return w.began
}

// serve records that names were read since the wait began.
func (w *nameWait) serve() {
	if w.served.IsZero() {
		w.served = time.Now()
	}
}

// confirm records which of the Node's claimed addresses its VM has, and which it lost. An unclear address
// keeps its state.
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

// nothing is the memory of a Node that is not known.
var nothing Memory

// kept returns the memory of a Node for reading only.
func (p *Placer) kept(node types.UID) *Memory {
	if k := p.memories.Kept(node); k != nil {
		return k
	}
	return &nothing
}
