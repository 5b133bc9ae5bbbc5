package inventory

import (
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

type match struct {
	snapshot   *Snapshot
	entry      Entry
	outside    bool
	byHostName bool
}

func (m match) details() *VM { return m.snapshot.VMs[m.entry.ID] }

// runs and isOff are both false until the details are read. A VM is also off if it was off before its host was
// disconnected.
func (m match) runs() bool { return m.details() != nil && m.details().Power == PowerOn }

func (m match) isOff() bool { d := m.details(); return d != nil && (d.Power.IsOff() || d.WasOff) }

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }

func listMatches(found []match) string {
	names := make([]string, len(found))
	for i, m := range found[:min(len(found), quote.Most)] {
		names[i] = m.String()
	}
	return quote.Some(names, quote.Most)
}

// IsUnreadable reports whether the configuration of a VM that may be the Node's cannot be read.
func IsUnreadable(states []State, id Identity) bool {
	return slices.ContainsFunc(matches(states, id), func(m match) bool { return m.entry.Unreadable })
}

// ListVMs lists the VMs that may be the Node's, or returns "".
func ListVMs(states []State, id Identity) string { return listMatches(matches(states, id)) }

func (m match) checkUsable(states []State, id Identity) error {
	details := m.details()
	switch {
	case m.outside:
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrOutside},
			"%s is in none of the configured datacenters: add its datacenter to the key datacenters of the configuration", m)
	case m.entry.Unreadable:
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrUnreadable},
			"the configuration of %s cannot be read", m)
	case details == nil || details.UUID.IsZero() || len(id.UUIDs) > 0 && !slices.Contains(id.UUIDs, details.UUID):
		return detailsPending(states, m)
	}
	return nil
}

// matches returns the VMs with a UUID of the Node in configured order. If there are none, it returns the VMs that the
// Node's annotation names and whose configuration cannot be read.
func matches(states []State, id Identity) []match {
	var found []match
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range id.UUIDs {
			for _, e := range s.Snapshot.Entries(u) {
				if s.Snapshot.isEligible(e) {
					found = append(found, match{snapshot: s.Snapshot, entry: e})
				}
			}
		}
		outside := s.Snapshot.Outside
		if e, ok := id.RecordedIn(s.Snapshot); ok && !e.Unreadable && !slices.Contains(outside, e.ID) {
			outside = append(slices.Clone(outside), e.ID)
		}
		for _, moid := range outside {
			if m := s.Snapshot.VMs[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
				found = append(found, match{snapshot: s.Snapshot, entry: Entry{ID: moid}, outside: true})
			}
		}
	}
	if len(found) == 0 {
		for _, s := range states {
			if e, ok := id.RecordedIn(s.Snapshot); ok && e.Unreadable && s.Snapshot.isEligible(e) {
				found = append(found, match{snapshot: s.Snapshot, entry: e})
			}
		}
	}
	return onePerVM(states, found)
}

func (m match) checkPowerKnown(states []State) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "the power state of %s is not known: %w", m, err)
	}
	if m.details().Power == PowerUnknown {
		return topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read", m)
	}
	return nil
}

// onePerVM returns one match for each VM. If several configured names of one vCenter show the VM, it returns the match with
// the highest rank, or the first of equal rank.
func onePerVM(states []State, found []match) []match {
	var unique []match
	for _, m := range found {
		state := StateOf(states, m.snapshot.VCenter)
		i := slices.IndexFunc(unique, func(other match) bool {
			return m.entry.ID == other.entry.ID && state.isSameVCenter(StateOf(states, other.snapshot.VCenter))
		})
		switch {
		case i < 0:
			unique = append(unique, m)
		case m.rank(states) > unique[i].rank(states):
			unique[i] = m
		}
	}
	return unique
}

func (m match) rank(states []State) (n int) {
	for _, better := range []bool{StateOf(states, m.snapshot.VCenter).Err == nil, !m.outside, !m.entry.Unreadable} {
		n *= 2
		if better {
			n++
		}
	}
	return n
}
