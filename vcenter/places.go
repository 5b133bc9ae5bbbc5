package vcenter

import (
	"slices"
	"sync"

	"vzones/vcenter/inventory"
)

// places are where the machines of followed UUIDs were last, in a vCenter with
// index: followed: what has to be gone before one of them is absent. Run writes them,
// and whoever confirms an absence reads them. They outlive watches.
type places struct {
	mu sync.Mutex
	// instance is the vCenter's own UUID, in which the managed object IDs are.
	instance string
	ids      map[inventory.UUID][]string
}

// note takes over what is in the index now. A UUID that is not there keeps what it
// had, as long as it is followed.
func (p *places) note(instance string, index map[inventory.UUID][]string, followed map[inventory.UUID]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.instance != instance || p.ids == nil {
		p.instance, p.ids = instance, map[inventory.UUID][]string{}
	}
	for u := range p.ids {
		if !followed[u] {
			delete(p.ids, u)
		}
	}
	for u, ids := range index {
		if followed[u] {
			p.ids[u] = ids
		}
	}
}

// of returns where a machine with one of the UUIDs was last in that vCenter.
func (p *places) of(instance string, uuids []inventory.UUID) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.instance != instance {
		return nil
	}
	var ids []string
	for _, u := range uuids {
		ids = append(ids, p.ids[u]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
