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

// searchTime is how long a Node waits until each vCenter with index: followed was
// searched for its machine. One that answers is searched in a few times its latency.
const searchTime = 2 * time.Second

// lastSeen are where and when the machines of Nodes were last seen.
type lastSeen struct {
	mu   sync.Mutex
	seen map[types.UID]inventory.LastSeen
	// searched is when searches for the machines began.
	searched map[types.UID]time.Time
	// backedBy are the addresses that Nodes claim and their machines had when that was last
	// known.
	backedBy map[types.UID]backing
}

// backing are those of a Node, and what that was decided by.
type backing struct {
	node      *v1.Node
	machine   *inventory.Machine
	addresses []netip.Addr
}

// startSearch notes that the machine of a Node is searched for from now on, if it was not
// before, and returns how long that still may take.
func (s *lastSeen) startSearch(node types.UID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.searched[node]
	if !ok {
		if s.searched == nil {
			s.searched = map[types.UID]time.Time{}
		}
		at = time.Now()
		s.searched[node] = at
	}
	return time.Until(at.Add(searchTime))
}

// waited reports whether the machine of a Node was searched for long enough.
func (s *lastSeen) waited(node types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.searched[node]
	return ok && time.Since(at) >= searchTime
}

func (s *lastSeen) last(node types.UID) inventory.LastSeen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[node]
}

func (s *lastSeen) note(node types.UID, at inventory.LastSeen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[types.UID]inventory.LastSeen{}
	}
	s.seen[node] = at
}

// noteBacked notes which of the addresses that a Node claims its machine has. Of one that is
// unclear nothing changes.
func (s *lastSeen) noteBacked(node *v1.Node, m *inventory.Machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.backedBy[node.UID]
	if before.node == node && before.machine == m {
		return
	}
	now := backing{node: node, machine: m}
	for _, a := range addresses.ClaimedBy(node) {
		is, _ := addresses.Back(m, a)
		if is == addresses.Backed || is == addresses.Unclear && slices.Contains(before.addresses, a) {
			now.addresses = append(now.addresses, a)
		}
	}
	if s.backedBy == nil {
		s.backedBy = map[types.UID]backing{}
	}
	s.backedBy[node.UID] = now
}

// backed reports whether a Node's machine had an address when that was last known.
func (s *lastSeen) backed(node types.UID, a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.backedBy[node].addresses, a)
}

func (s *lastSeen) forget(node types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, node)
	delete(s.searched, node)
	delete(s.backedBy, node)
}
