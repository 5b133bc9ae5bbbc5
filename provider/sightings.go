package provider

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

// sightings are where and when the machines of Nodes were last seen.
type sightings struct {
	mu   sync.Mutex
	seen map[types.UID]inventory.Sighting
	// came is when searches for the machines began.
	came map[types.UID]time.Time
	// has are the addresses that Nodes claim and their machines had when that was last
	// known.
	has map[types.UID]backing
}

// backing are those of a Node, and what that was decided by.
type backing struct {
	node      *v1.Node
	machine   *inventory.Machine
	addresses []netip.Addr
}

// arrive notes that the machine of a Node is searched for from now on, if it was not
// before, and returns how long that still may take.
func (s *sightings) arrive(node types.UID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.came[node]
	if !ok {
		if s.came == nil {
			s.came = map[types.UID]time.Time{}
		}
		at = time.Now()
		s.came[node] = at
	}
	return time.Until(at.Add(searchTime))
}

// waited reports whether the machine of a Node was searched for long enough.
func (s *sightings) waited(node types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.came[node]
	return ok && time.Since(at) >= searchTime
}

func (s *sightings) last(node types.UID) inventory.Sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[node]
}

func (s *sightings) note(node types.UID, sighting inventory.Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[types.UID]inventory.Sighting{}
	}
	s.seen[node] = sighting
}

// back notes which of the addresses that a Node claims its machine has. Of one that is
// unclear nothing changes.
func (s *sightings) back(node *v1.Node, m *inventory.Machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.has[node.UID]
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
	if s.has == nil {
		s.has = map[types.UID]backing{}
	}
	s.has[node.UID] = now
}

// backed reports whether a Node's machine had an address when that was last known.
func (s *sightings) backed(node types.UID, a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.has[node].addresses, a)
}

func (s *sightings) forget(node types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, node)
	delete(s.came, node)
	delete(s.has, node)
}
