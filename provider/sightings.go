package provider

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

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

func (s *sightings) forget(node types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, node)
	delete(s.came, node)
}
