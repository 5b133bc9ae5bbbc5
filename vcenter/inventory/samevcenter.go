package inventory

import (
	"errors"
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

// A vCenter is its configured address: entries with equal addresses are one vCenter, each with an account or
// datacenters of its own. Each entry has a session, a snapshot and a state of its own, so that what fails for
// one account does not concern the others. The instance UUID is what a server reports about itself, before any
// login. It can only show that two vCenters differ, never that they are one.

// ErrSharedInstance means that entries with different addresses report one instance UUID. It is in a
// topology.ErrUnknown.
var ErrSharedInstance = errors.New("two addresses report one vCenter")

// IsIn reports whether an entry with that name and instance UUID may be of the vCenter where the VM was last
// seen. It is no proof that it is: see entries.
func (was LastSeen) IsIn(vcenter, instance string) bool {
	if was.Instance != "" && instance != "" {
		return was.Instance == instance
	}
	return was.VCenter != "" && was.VCenter == vcenter
}

// mayBeIn is IsIn for a state, which may have no snapshot yet.
func (was LastSeen) mayBeIn(s State) bool { return was.IsIn(s.VCenter, s.instance()) }

// instance returns the instance UUID that the entry reports, empty if it is not known.
func (s State) instance() string {
	if s.Snapshot == nil {
		return ""
	}
	return s.Snapshot.Instance
}

// vCenter returns one entry of the vCenter where the VM was last seen: the entry with that name, unless it reports
// another instance UUID. If no entry has the name, it was renamed, and its instance UUID identifies it, as long as
// one address alone reports that. It is the zero State if there is none.
func (was LastSeen) vCenter(states []State) State {
	if was.VCenter == "" {
		return State{}
	}
	if named := StateOf(states, was.VCenter); named.VCenter != "" {
		if was.mayBeIn(named) {
			return named
		}
		return State{}
	}
	i := slices.IndexFunc(states, was.mayBeIn)
	if i < 0 || len(sharing(states, states[i])) > 0 {
		return State{}
	}
	return states[i]
}

// entries returns the entries of the vCenter where the VM was last seen.
func (was LastSeen) entries(states []State) []State {
	first := was.vCenter(states)
	if first.VCenter == "" {
		return nil
	}
	var entries []State
	for _, s := range states {
		if s.isSameVCenter(first) {
			entries = append(entries, s)
		}
	}
	return entries
}

// is reports whether a match is the managed object that was last seen in one of these entries.
func (was LastSeen) is(m match, entries []State) bool {
	return m.entry.ID == was.ID && StateOf(entries, m.snapshot.VCenter).VCenter != ""
}

// isSameVCenter reports whether two entries are one vCenter. Behind one address may be several, which report
// different instance UUIDs.
func (s State) isSameVCenter(other State) bool {
	if s.VCenter == other.VCenter {
		return true
	}
	differ := s.instance() != "" && other.instance() != "" && s.instance() != other.instance()
	return s.Address != "" && s.Address == other.Address && !differ
}

// sharing returns the entries that report the instance UUID of an entry at another address.
func sharing(states []State, s State) []State {
	var others []State
	for _, other := range states {
		if s.instance() != "" && s.instance() == other.instance() && !s.isSameVCenter(other) {
			others = append(others, other)
		}
	}
	return others
}

// CheckInstance returns an ErrSharedInstance if an entry reports the instance UUID of another address. Then one
// of the two is a copy of the other, or pretends to be it.
func CheckInstance(states []State, vcenter string) error {
	s := StateOf(states, vcenter)
	others := sharing(states, s)
	if len(others) == 0 {
		return nil
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrSharedInstance}, "vCenter %q and vCenter %q report one instance UUID at two addresses, %s and %s: "+
		"write one address if they are one vCenter; otherwise one is a copy of the other: remove it from the configuration",
		s.VCenter, others[0].VCenter, quote.Value(s.Address), quote.Value(others[0].Address))
}

// FirstEntry returns the name of the first configured entry of the vCenter that the given entry belongs to: the
// vCenter's name where not the account but the vCenter is meant.
func FirstEntry(states []State, vcenter string) string {
	of := StateOf(states, vcenter)
	for _, s := range states {
		if s.isSameVCenter(of) {
			return s.VCenter
		}
	}
	return vcenter
}

// IsSameMachine reports whether a VM that one entry shows is the one at a reference of another entry of the same
// vCenter, whose instance UUID is given with the reference.
func IsSameMachine(states []State, m topology.Ref, at topology.Ref, instance string) bool {
	entries := LastSeen{VCenter: at.VCenter, ID: at.ID, Instance: instance}.entries(states)
	return m.ID == at.ID && StateOf(entries, m.VCenter).VCenter != ""
}
