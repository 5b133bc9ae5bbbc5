package watch

import (
	"slices"
	"sync"

	"vzones/vcenter/inventory"
)

// LastSeen are the machines that followed UUIDs were last seen as, in a vCenter with
// index: followed: what has to be gone before one of them is absent. The watch writes it,
// and whoever confirms an absence reads it. It outlives watches. The zero value is empty.
type LastSeen struct {
	mu sync.Mutex
	// instance is the vCenter's own UUID, in which the managed object IDs are.
	instance string
	ids      map[inventory.UUID][]string
}

// note records what is in the index now. A UUID that is not there keeps what it
// had, as long as it is followed.
func (l *LastSeen) note(instance string, index map[inventory.UUID][]string, followed map[inventory.UUID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.instance != instance || l.ids == nil {
		l.instance, l.ids = instance, map[inventory.UUID][]string{}
	}
	for u := range l.ids {
		if !followed[u] {
			delete(l.ids, u)
		}
	}
	for u, ids := range index {
		if followed[u] {
			l.ids[u] = ids
		}
	}
}

// Of returns the managed object IDs that machines with one of the UUIDs last had in that
// vCenter.
func (l *LastSeen) Of(instance string, uuids []inventory.UUID) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.instance != instance {
		return nil
	}
	var ids []string
	for _, u := range uuids {
		ids = append(ids, l.ids[u]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
