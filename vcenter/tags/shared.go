package tags

import (
	"maps"
	"sync/atomic"
)

// Shared are the names that a Reader has read, for other readers of the same vCenter: each name
// takes a request. Any goroutine may use it. The zero value has none.
type Shared struct{ names atomic.Pointer[sharedNames] }

// sharedNames are never changed.
type sharedNames struct{ tags, categories map[string]name }

// publish makes what a cache knows known to others.
func (s *Shared) publish(c *cache) {
	s.names.Store(&sharedNames{readable(c.tags.byID), readable(c.categories.byID)})
}

// Forget forgets the names: they are those of another vCenter.
func (s *Shared) Forget() { s.names.Store(nil) }

// readable returns the names that the account may read.
func readable(byID map[string]name) map[string]name {
	all := make(map[string]name, len(byID))
	for id, n := range byID {
		if n.refused == nil {
			all[id] = n
		}
	}
	return all
}

// startWith fills the cache with what another one knew.
func (c *cache) startWith(s *Shared) {
	known := s.names.Load()
	if known == nil {
		return
	}
	maps.Copy(c.tags.byID, known.tags)
	maps.Copy(c.categories.byID, known.categories)
}
