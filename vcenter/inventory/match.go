package inventory

import (
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

// match is a machine that fits an identity.
type match struct {
	snapshot *Snapshot
	entry    Entry
	outside  bool
	// byHostName says that a name matched, and that it was the guest's.
	byHostName bool
}

// details returns the machine's, nil if they are not read yet.
func (m match) details() *Machine { return m.snapshot.Machines[m.entry.ID] }

// runs reports whether the machine certainly runs, and isOff whether it is off, or was when its host was disconnected.
// Both are false until its details are read.
func (m match) runs() bool { return m.details() != nil && m.details().Power == PowerOn }

func (m match) isOff() bool { d := m.details(); return d != nil && (d.Power.IsOff() || d.WasOff) }

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }

func listMatches(several []match) string {
	names := make([]string, len(several))
	for i, m := range several[:min(len(several), quote.Most)] {
		names[i] = m.String()
	}
	return quote.Some(names, quote.Most)
}

// isUsable returns why a VM cannot be given to the Node although it is the only one that fits: its details
// are outside of what is read.
func (m match) isUsable(states []State, id Identity) error {
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

// matches returns the VMs with one of the Node's UUIDs, in configured order. If there is none, and the VM
// of the Node's record exists and cannot be read, it returns that VM.
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
			if m := s.Snapshot.Machines[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
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
	return onePerMachine(states, found)
}

// checkPowerKnown returns why it is not known whether the VM is off now.
func (m match) checkPowerKnown(states []State) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "the power state of %s is not known: %w", m, err)
	}
	if m.details().Power == PowerUnknown {
		return topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read", m)
	}
	return nil
}

// onePerMachine returns one match for each VM. Of several entries of one vCenter it takes one that is in contact
// before one that fails, one that has the VM in its datacenters before one that has it outside, one that can
// read it before one that cannot, and of these the first in the configuration. So it does not matter which
// entry was read first, and what one entry no longer sees is not lost while another one does.
func onePerMachine(states []State, found []match) []match {
	var left []match
	for _, m := range found {
		of := StateOf(states, m.snapshot.VCenter)
		i := slices.IndexFunc(left, func(other match) bool {
			return m.entry.ID == other.entry.ID && of.isSameVCenter(StateOf(states, other.snapshot.VCenter))
		})
		switch {
		case i < 0:
			left = append(left, m)
		case m.rank(states) > left[i].rank(states):
			left[i] = m
		}
	}
	return left
}

// rank returns which of the entries of one vCenter takes precedence.
func (m match) rank(states []State) (n int) {
	for _, better := range []bool{StateOf(states, m.snapshot.VCenter).Err == nil, !m.outside, !m.entry.Unreadable} {
		n *= 2
		if better {
			n++
		}
	}
	return n
}
