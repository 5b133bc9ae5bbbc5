package inventory

import (
	"maps"
	"slices"

	"vzones/topology"
)

// A Standing says why a machine is a Node's, or is not. It is one of a closed set, whose values are
// for programs too.
type Standing string

// The standings.
const (
	// StandingChosen: it is the Node's machine.
	StandingChosen Standing = "chosen"
	// StandingSame: it is the Node's machine, as another entry of the same vCenter shows it.
	StandingSame Standing = "same_machine"
	// StandingTemplate: it is a template.
	StandingTemplate Standing = "template"
	// StandingSecondary: it is the secondary of a Fault Tolerance pair.
	StandingSecondary Standing = "secondary"
	// StandingOff: it is off, and another one runs.
	StandingOff Standing = "powered_off"
	// StandingOutside: it is in none of the configured datacenters.
	StandingOutside Standing = "outside_datacenters"
	// StandingUnreadable: its configuration cannot be read, so that it may be the Node's.
	StandingUnreadable Standing = "unreadable"
	// StandingEqual: it fits as well as others, or something that is not known decides.
	StandingEqual Standing = "undecided"
)

// Text says it for a person.
func (s Standing) Text() string {
	switch s {
	case StandingChosen:
		return "is the machine"
	case StandingSame:
		return "is the same machine, by another entry of its vCenter"
	case StandingTemplate:
		return "a template is not a Node's machine"
	case StandingSecondary:
		return "a Fault Tolerance secondary is not a Node's machine"
	case StandingOff:
		return "is off, and another one runs"
	case StandingOutside:
		return "is in none of the configured datacenters"
	case StandingUnreadable:
		return "cannot be read, and may be it"
	}
	return "fits, and is not certain to be it"
}

// A Candidate is a machine that fits what a Node says of its own, or may fit.
type Candidate struct {
	Ref topology.Ref
	// Path is the inventory path, empty if it is not known.
	Path string
	// UUID is the form of the UUID that fits, zero where a name does or none is known.
	UUID UUID
	// ByHostName reports whether the guest's host name fits, and not the machine's own name.
	ByHostName bool
	PoweredOn  bool
	Standing   Standing
}

// Candidates returns all machines that fit what a Node says, the chosen one first if Find returns
// one, and those of which no UUID is known and that may therefore be the Node's.
func Candidates(states []State, id Identity) []Candidate {
	chosen, err := Find(states, id)
	if err != nil {
		chosen = nil
	}
	var all []Candidate
	for _, s := range states {
		if s.Snapshot != nil {
			all = append(all, candidatesIn(states, s, id, chosen)...)
		}
	}
	slices.SortStableFunc(all, func(a, b Candidate) int { return b.rank() - a.rank() })
	return all
}

func (c Candidate) rank() int {
	switch c.Standing {
	case StandingChosen:
		return 2
	case StandingUnreadable:
		return 0
	}
	return 1
}

func candidatesIn(states []State, s State, id Identity, chosen *Machine) []Candidate {
	var all []Candidate
	add := func(e Entry, u UUID, byHostName, outside bool) {
		c := Candidate{Ref: s.Snapshot.Ref(e.ID), UUID: u, ByHostName: byHostName}
		if m := s.Snapshot.Machines[e.ID]; m != nil {
			c.Path, c.PoweredOn = m.InventoryPath, m.Power == PowerOn
		}
		c.Standing = standing(states, match{snapshot: s.Snapshot, entry: e, outside: outside}, chosen)
		if !slices.ContainsFunc(all, func(o Candidate) bool { return o.Ref == c.Ref }) {
			all = append(all, c)
		}
	}
	for _, u := range id.UUIDs {
		for _, e := range s.Snapshot.Entries(u) {
			add(e, u, false, false)
		}
	}
	if len(id.UUIDs) == 0 {
		for _, e := range s.Snapshot.Names[id.Name] {
			add(e.Entry, UUID{}, e.ByHostName, false)
		}
		return all
	}
	for _, m := range matches([]State{s}, id) {
		add(m.entry, UUID{}, false, m.outside)
	}
	if chosen == nil {
		for _, moid := range slices.Sorted(maps.Keys(s.Snapshot.Unreadable)) {
			if !id.isAnother(s, moid, s.Snapshot.Unreadable[moid]) {
				add(Entry{ID: moid, Unreadable: true}, UUID{}, false, false)
			}
		}
	}
	return all
}

func standing(states []State, m match, chosen *Machine) Standing {
	switch {
	case chosen != nil && chosen.Ref == m.snapshot.Ref(m.entry.ID):
		return StandingChosen
	case chosen != nil && m.same(match{snapshot: StateOf(states, chosen.Ref.VCenter).Snapshot, entry: Entry{ID: chosen.Ref.ID}}):
		return StandingSame
	case m.entry.Template:
		return StandingTemplate
	case !m.snapshot.isEligible(m.entry):
		return StandingSecondary
	case m.outside:
		return StandingOutside
	case m.entry.Unreadable:
		return StandingUnreadable
	case chosen != nil && m.isOff():
		return StandingOff
	}
	return StandingEqual
}
