package provider

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"vzones/vcenter/inventory"
)

// sightings are where and when the machines of Nodes were last seen.
type sightings struct {
	mu   sync.Mutex
	seen map[types.UID]inventory.Sighting
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
}
