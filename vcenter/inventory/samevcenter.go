package inventory

import (
	"errors"
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

// A vCenter is identified by its address. Entries with equal addresses are one vCenter with different accounts or
// datacenters. Another server can report the vCenter's instance UUID, which is public, so the UUID can only show that
// two vCenters differ (decision 0040).

// ErrSharedInstance means that entries with different addresses report one instance UUID.
var ErrSharedInstance = errors.New("two addresses report one vCenter")

// IsIn reports whether an entry may belong to the vCenter where the VM was last seen.
func (seen LastSeen) IsIn(vcenter, instance string) bool {
	if seen.Instance != "" && instance != "" {
		return seen.Instance == instance
	}
	return seen.VCenter != "" && seen.VCenter == vcenter
}

func (seen LastSeen) mayBeIn(s State) bool { return seen.IsIn(s.VCenter, s.instance()) }

func (s State) instance() string {
	if s.Snapshot == nil {
		return ""
	}
	return s.Snapshot.Instance
}

// vCenter returns the entry with the recorded name, unless it reports another instance UUID. If no entry has the
// name, it returns the renamed entry with the instance UUID, provided that only one address reports this UUID.
func (seen LastSeen) vCenter(states []State) State {
	if seen.VCenter == "" {
		return State{}
	}
	if named := StateOf(states, seen.VCenter); named.VCenter != "" {
		if seen.mayBeIn(named) {
			return named
		}
		return State{}
	}
	i := slices.IndexFunc(states, seen.mayBeIn)
	if i < 0 || len(sharingInstance(states, states[i])) > 0 {
		return State{}
	}
	return states[i]
}

func (seen LastSeen) entries(states []State) []State {
	first := seen.vCenter(states)
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

func (seen LastSeen) isMatch(m match, entries []State) bool {
	return m.entry.ID == seen.ID && StateOf(entries, m.snapshot.VCenter).VCenter != ""
}

// isSameVCenter accounts for vCenters behind a shared address, which have different instance UUIDs.
func (s State) isSameVCenter(other State) bool {
	if s.VCenter == other.VCenter {
		return true
	}
	differ := s.instance() != "" && other.instance() != "" && s.instance() != other.instance()
	return s.Address != "" && s.Address == other.Address && !differ
}

func sharingInstance(states []State, s State) []State {
	var sharers []State
	for _, other := range states {
		if s.instance() != "" && s.instance() == other.instance() && !s.isSameVCenter(other) {
			sharers = append(sharers, other)
		}
	}
	return sharers
}

// CheckInstance returns an ErrSharedInstance if another address reports the same instance UUID.
func CheckInstance(states []State, vcenter string) error {
	s := StateOf(states, vcenter)
	sharers := sharingInstance(states, s)
	if len(sharers) == 0 {
		return nil
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrSharedInstance}, "vCenter %q and vCenter %q report the same instance UUID at two addresses, %s and %s: "+
		"use one address if they are the same vCenter; otherwise remove the copy from the configuration",
		s.VCenter, sharers[0].VCenter, quote.Value(s.Address), quote.Value(sharers[0].Address))
}

// FirstEntry returns the name of the first configured entry of an entry's vCenter.
func FirstEntry(states []State, vcenter string) string {
	entry := StateOf(states, vcenter)
	for _, s := range states {
		if s.isSameVCenter(entry) {
			return s.VCenter
		}
	}
	return vcenter
}

// IsSameVM reports whether m is the VM at ref, possibly in another entry of ref's vCenter.
func IsSameVM(states []State, m topology.Ref, ref topology.Ref, instance string) bool {
	entries := LastSeen{VCenter: ref.VCenter, ID: ref.ID, Instance: instance}.entries(states)
	return m.ID == ref.ID && StateOf(entries, m.VCenter).VCenter != ""
}
