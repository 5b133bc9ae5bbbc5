package placement

import (
	"errors"
	"time"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// ErrQuiet means that a vCenter has not answered for a while, although nothing is known to
// be wrong with it. It is in a topology.ErrUnknown.
var ErrQuiet = errors.New("checking whether the vCenter still answers")

// tooOld returns an error if a vCenter's snapshot must not initialize a Node: the
// vCenter has not answered for so long that its machines may be elsewhere by now.
// Nodes that are initialized keep what they have. The error says how long a vCenter may take and not
// how long it has taken, so that it stays the same.
func (p *Placer) tooOld(s inventory.State) error {
	if time.Since(s.LastContact) <= p.maxAge {
		return nil
	}
	reason := s.CheckReachable()
	if reason == nil {
		reason = ErrQuiet
	}
	if s.LastContact.IsZero() {
		return topology.Errorf(topology.ErrUnknown, "vCenter %q has not answered yet: %w", s.VCenter, reason)
	}
	return topology.Errorf(topology.ErrUnknown, "vCenter %q has not answered for more than %v, which is too long to initialize a Node by what it said: %w",
		s.VCenter, p.maxAge, reason)
}
