package inventory

import (
	"slices"

	"vzones/topology"
)

// A vCenter may be configured under several names, with an account or datacenters of its
// own for each. Its own UUID tells that they are one. Each entry has a session, a snapshot
// and a state of its own, so that what fails for one account does not concern the others.

// isIn reports whether a snapshot is of the vCenter where the machine was last seen, whatever its name is.
func (was LastSeen) isIn(s *Snapshot) bool {
	return s != nil && was.Instance != "" && s.Instance == was.Instance
}

// is reports whether a machine is the one that was last seen.
func (was LastSeen) is(m match) bool {
	return m.entry.ID == was.ID && (m.snapshot.VCenter == was.VCenter && (was.Instance == "" || m.snapshot.Instance == "") || was.isIn(m.snapshot))
}

// same reports whether two matches are one machine: one vCenter's managed object.
func (m match) same(other match) bool {
	return m.entry.ID == other.entry.ID && m.snapshot.sameVCenter(other.snapshot)
}

func (s *Snapshot) sameVCenter(other *Snapshot) bool {
	return s.VCenter == other.VCenter || s.Instance != "" && s.Instance == other.Instance
}

// onePerMachine leaves of matches that are one machine the one that counts: that of an entry which
// is in contact before one that fails, of one in whose datacenters it is before one of
// whose it is outside, of one that can read it before one that cannot, and of these the
// first in the configuration. So which entry was read first does not matter, and what one
// of them cannot see any more is not lost while another one can.
func onePerMachine(states []State, all []match) []match {
	var left []match
	for _, m := range all {
		i := slices.IndexFunc(left, m.same)
		switch {
		case i < 0:
			left = append(left, m)
		case m.rank(states) > left[i].rank(states):
			left[i] = m
		}
	}
	return left
}

// rank is how much an entry's word on a machine counts beside those of others of the
// same vCenter.
func (m match) rank(states []State) (n int) {
	details := m.snapshot.Machines[m.entry.ID]
	for _, well := range []bool{
		StateOf(states, m.snapshot.VCenter).Trouble == nil, !m.outside, !m.entry.Unreadable, details != nil && !details.UUID.IsZero(),
	} {
		n *= 2
		if well {
			n++
		}
	}
	return n
}

// First returns the first of the configured entries that are the same vCenter as one of
// them: what that vCenter is called where its name means the vCenter and not the account.
// They are the same by the vCenter's own UUID, or, while one of them was never read, by
// their address.
func First(states []State, vcenter string) string {
	of := StateOf(states, vcenter)
	for _, s := range states {
		switch {
		case s.VCenter == vcenter:
			return vcenter
		case s.Snapshot != nil && of.Snapshot != nil && s.Snapshot.Instance != "" && of.Snapshot.Instance != "":
			if s.Snapshot.Instance == of.Snapshot.Instance {
				return s.VCenter
			}
		case s.Address != "" && s.Address == of.Address:
			return s.VCenter
		}
	}
	return vcenter
}

// IsShown reports whether a machine that one entry shows is the one at a reference of
// another entry of the same vCenter, whose own UUID the reference's was.
func IsShown(states []State, m topology.Ref, at topology.Ref, instance string) bool {
	in := StateOf(states, m.VCenter).Snapshot
	return m.ID == at.ID && in != nil && in.Instance != "" && in.Instance == instance
}
