package inventory

import (
	"errors"
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

// A vCenter is its configured address. Entries with equal addresses are one vCenter with different accounts or
// datacenters. Each has its own session, snapshot and state, so that it fails alone. A server reports its instance UUID
// before any login, so the UUID can only show that two vCenters differ, never that they are the same.

// ErrSharedInstance means that entries with different addresses report one instance UUID.
var ErrSharedInstance = errors.New("two addresses report one vCenter")

// IsIn reports whether an entry may belong to the vCenter where the VM was last seen. It is no proof: see entries.
func (was LastSeen) IsIn(vcenter, instance string) bool {
	if was.Instance != "" && instance != "" {
		return was.Instance == instance
	}
	return was.VCenter != "" && was.VCenter == vcenter
}

func (was LastSeen) mayBeIn(s State) bool { return was.IsIn(s.VCenter, s.instance()) }

func (s State) instance() string {
	if s.Snapshot == nil {
		return ""
	}
	return s.Snapshot.Instance
}

// vCenter returns one entry of the vCenter where the VM was last seen, or the zero State. The entry has the recorded
// name, unless it reports another instance UUID. If no entry has the name, the instance UUID identifies the renamed
// entry, provided that only one address reports this UUID.
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

// is reports whether m is the managed object last seen in these entries.
func (was LastSeen) is(m match, entries []State) bool {
	return m.entry.ID == was.ID && StateOf(entries, m.snapshot.VCenter).VCenter != ""
}

// isSameVCenter reports whether two entries are one vCenter. vCenters behind a shared address differ in their
// instance UUIDs.
func (s State) isSameVCenter(other State) bool {
	if s.VCenter == other.VCenter {
		return true
	}
	differ := s.instance() != "" && other.instance() != "" && s.instance() != other.instance()
	return s.Address != "" && s.Address == other.Address && !differ
}

func sharing(states []State, s State) []State {
	var others []State
	for _, other := range states {
		if s.instance() != "" && s.instance() == other.instance() && !s.isSameVCenter(other) {
			others = append(others, other)
		}
	}
	return others
}

// CheckInstance returns an ErrSharedInstance if another address reports the same instance UUID. One vCenter is then
// a copy of the other, or an impostor.
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

// FirstEntry returns the name of the first configured entry of an entry's vCenter.
func FirstEntry(states []State, vcenter string) string {
	of := StateOf(states, vcenter)
	for _, s := range states {
		if s.isSameVCenter(of) {
			return s.VCenter
		}
	}
	return vcenter
}

// IsSameMachine reports whether m is the VM at a reference that another entry of the same vCenter may show. The
// instance UUID belongs to the vCenter of the reference.
func IsSameMachine(states []State, m topology.Ref, at topology.Ref, instance string) bool {
	entries := LastSeen{VCenter: at.VCenter, ID: at.ID, Instance: instance}.entries(states)
	return m.ID == at.ID && StateOf(entries, m.VCenter).VCenter != ""
}
