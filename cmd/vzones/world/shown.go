package world

import (
	"sync/atomic"

	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// shown is a fleet that shows states as they were: all answers about one World are of one time.
type shown struct {
	*vcenter.Fleet
	states atomic.Pointer[[]inventory.State]
}

// States returns the states that are shown.
func (s *shown) States() []inventory.State {
	if states := s.states.Load(); states != nil {
		return *states
	}
	return nil
}
