package world

import (
	"errors"
	"slices"

	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
)

// isRead reports whether each vCenter was read, or has failed.
func (w *World) isRead() bool {
	for i := range w.States {
		if s := &w.States[i]; s.Err == nil && (s.Snapshot == nil || !w.isComplete(s.Snapshot)) {
			return false
		}
	}
	return true
}

// isComplete reports whether all that a vCenter has to be searched for was searched for.
func (w *World) isComplete(s *inventory.Snapshot) bool {
	for _, id := range w.followed {
		if _, searched := s.Names[id.Name]; len(id.UUIDs) == 0 && !searched {
			return false
		}
		for _, u := range id.UUIDs {
			if s.Searched != nil && !s.Searched.UUIDs[u] || isPending(s, u) {
				return false
			}
		}
	}
	for _, m := range s.Machines {
		if m.Pending || !tagsAreRead(m) {
			return false
		}
	}
	return len(s.Pending) == 0
}

// isPending reports whether details of a machine are still to come.
func isPending(s *inventory.Snapshot, u inventory.UUID) bool {
	return slices.ContainsFunc(s.Index[u], func(e inventory.Entry) bool {
		return e.Eligible() && !e.Unreadable && s.Machines[e.ID] == nil
	})
}

// tagsAreRead reports whether the tags above a machine were read, or could not be.
func tagsAreRead(m *inventory.Machine) bool {
	for i := range m.Paths {
		for _, o := range m.Paths[i].Objects {
			if errors.Is(o.TagsErr, tags.ErrNotRead) {
				return false
			}
		}
	}
	return true
}
