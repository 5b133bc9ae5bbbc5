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
	reservedFor = time.Minute
	// namesValidFor is the time for which a Node that waited for tag names may use them before it must wait again.
	namesValidFor = time.Minute
)

// A Memory contains facts about a Node that its object does not contain.
type Memory struct {
	lastSeen inventory.LastSeen
	// readyWhileHomeOff is the time since which the Node is ready although its home, the managed object in which
	// its VM was last found, is powered off.
	readyWhileHomeOff time.Time
	// seen means that the VM was found since the daemon started.
	seen bool
	// witnessed is the inventory.State.WatchedSince with which the VM was last found. It is zero if the host was then
	// disconnected or the configuration unreadable, or if the Node outlived the VM.
	witnessed time.Time
	// confirmed are the Node's addresses that the VM had when last read.
	confirmed   []netip.Addr
	confirmedBy struct {
		node *v1.Node
		vm   *inventory.VM
	}
	// lost contains when the running VM stopped reporting an address of the Node.
	lost map[netip.Addr]time.Time
	// initialHostName is the Hostname in the last answer for the joining Node. The framework removes the taint before it
	// writes the addresses, and its address loop may ask in between.
	initialHostName string
	// reserved is valid while the Node is in reservations.index.
	reserved reservation
	names    nameWait
	// absentSince is the time since which no snapshot has the VM of the joining Node.
	absentSince time.Time
	placed      placed
	// absence is the search that confirms that the VM is absent, outside is the search outside the
	// configured datacenters.
	absence *search
	outside *search
}

// Memories contains the memory of each Node, under one lock. nodes.Store implements it.
type Memories interface {
	sync.Locker
	// Memory returns the memory of a Node, for use under the lock.
	Memory(*v1.Node) *Memory
	// ExistingMemory returns nil if there is no memory.
	ExistingMemory(types.UID) *Memory
}

// nameWait is the wait of a Node that lacks only tag names, which were first available at readAt.
type nameWait struct{ began, readAt time.Time }

// start begins a new wait if names became available long ago.
func (w *nameWait) start() time.Time {
	if w.began.IsZero() || !w.readAt.IsZero() && time.Since(w.readAt) > namesValidFor {
		*w = nameWait{began: time.Now()}
	}
	return w.began
}

func (w *nameWait) markRead() {
	if w.readAt.IsZero() {
		w.readAt = time.Now()
	}
}

func (k *Memory) firstAbsent() time.Time {
	if k.absentSince.IsZero() {
		k.absentSince = time.Now()
	}
	return k.absentSince
}

// confirm records which claimed addresses the VM has and lost. An unclear address keeps its state.
func (k *Memory) confirm(node *v1.Node, m *inventory.VM) {
	if k.confirmedBy.node == node && k.confirmedBy.vm == m {
		return
	}
	k.confirmedBy.node = node
	k.confirmedBy.vm = m
	var confirmed []netip.Addr
	lost := map[netip.Addr]time.Time{}
	for _, a := range addresses.ClaimedBy(node) {
		backing, _ := addresses.BackingOf(m, a)
		if backing == addresses.Unbacked && m.Power != inventory.PowerOff {
			if lost[a] = k.lost[a]; lost[a].IsZero() {
				lost[a] = time.Now()
			}
		}
		if backing == addresses.Backed || backing == addresses.Unclear && slices.Contains(k.confirmed, a) {
			confirmed = append(confirmed, a)
		}
	}
	k.confirmed = confirmed
	k.lost = lost
}

var noMemory Memory

// memoryOf returns a memory that the caller must not change.
func memoryOf(memories Memories, node types.UID) *Memory {
	if k := memories.ExistingMemory(node); k != nil {
		return k
	}
	return &noMemory
}
