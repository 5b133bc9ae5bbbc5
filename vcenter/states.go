package vcenter

import (
	"sync/atomic"

	"vzones/vcenter/inventory"
)

// combined are the states of a fleet, made of the statuses that its members had. They are made
// once for each change and not once for each reader: each decision about a Node reads them.
type combined struct {
	last atomic.Pointer[combination]
}

// A combination is never changed.
type combination struct {
	members  *[]member
	statuses []*status
	states   []inventory.State
}

// of returns the states of members.
func (c *combined) of(members *[]member) []inventory.State {
	last := c.last.Load()
	if last != nil && last.isOf(members) {
		return last.states
	}
	now := &combination{
		members: members, statuses: make([]*status, len(*members)), states: make([]inventory.State, len(*members)),
	}
	for i, m := range *members {
		now.statuses[i] = m.status.Load()
		now.states[i] = m.state(now.statuses[i])
	}
	c.last.CompareAndSwap(last, now)
	return now.states
}

// isOf reports whether members still have the statuses that the states were made of.
func (c *combination) isOf(members *[]member) bool {
	if c.members != members {
		return false
	}
	for i, m := range *members {
		if m.status.Load() != c.statuses[i] {
			return false
		}
	}
	return true
}

// state is the state with the address that is configured now, of which nothing may be known
// yet.
func (m *member) state(is *status) inventory.State {
	s := inventory.State{VCenter: m.name}
	if is.of(m.target) {
		s = is.state
	}
	s.Address = m.target.cfg.Address()
	return s
}
