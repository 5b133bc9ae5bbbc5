package inventory

import (
	"slices"

	"vzones/topology"
)

// A vCenter may be configured under several names, with an account or datacenters of its
// own for each. Its own UUID tells that they are one. Each entry has a session, a snapshot
// and a state of its own, so that what fails for one account does not concern the others.

// IsIn reports whether an entry with that name and own UUID is of the vCenter where the machine
// was last seen. The name counts only while one of the two UUIDs is not known.
func (was LastSeen) IsIn(vcenter, instance string) bool {
	if was.Instance != "" && instance != "" {
		return was.Instance == instance
	}
	return was.VCenter != "" && was.VCenter == vcenter
}

// mayBeIn is IsIn for a state, which may have no snapshot yet.
func (was LastSeen) mayBeIn(s State) bool {
	if s.Snapshot == nil {
		return was.IsIn(s.VCenter, "")
	}
	return was.IsIn(s.VCenter, s.Snapshot.Instance)
}

// is reports whether a machine is the one that was last seen.
func (was LastSeen) is(m match) bool {
	return m.entry.ID == was.ID && was.IsIn(m.snapshot.VCenter, m.snapshot.Instance)
}

// same reports whether two matches are one machine: one vCenter's managed object.
func (m match) same(other match) bool {
	return m.entry.ID == other.entry.ID && m.snapshot.sameVCenter(other.snapshot)
}

func (s *Snapshot) sameVCenter(other *Snapshot) bool {
	return s.VCenter == other.VCenter || s.Instance != "" && s.Instance == other.Instance
}

// onePerMachine returns one match for each machine. Of several it takes that of an entry
// which is in contact before one that fails, of one in whose datacenters the machine is
// before one outside of whose it is, of one that can read it before one that cannot, and
// of these the first in the configuration. So it does not matter which entry was read
// first, and what one entry no longer sees is not lost while another does.
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

// rank returns how much an entry's match counts beside those of other entries of the same
// vCenter.
func (m match) rank(states []State) (n int) {
	details := m.snapshot.Machines[m.entry.ID]
	for _, well := range []bool{
		StateOf(states, m.snapshot.VCenter).Err == nil, !m.outside, !m.entry.Unreadable, details != nil && !details.UUID.IsZero(),
	} {
		n *= 2
		if well {
			n++
		}
	}
	return n
}

// FirstEntry returns the name of the first configured entry of the vCenter that the given
// entry belongs to: the vCenter's name where not the account but the vCenter is meant.
// Entries belong to one vCenter by its own UUID or, while one of them was never read, by
// their address.
func FirstEntry(states []State, vcenter string) string {
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

// IsSameMachine reports whether a machine that one entry shows is the one at a reference
// of another entry of the same vCenter, whose own UUID is given with the reference.
func IsSameMachine(states []State, m topology.Ref, at topology.Ref, instance string) bool {
	in := StateOf(states, m.VCenter).Snapshot
	return m.ID == at.ID && in != nil && in.Instance != "" && in.Instance == instance
}
