package explain

import (
	"maps"
	"slices"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A standing says why a machine is a Node's, or is not.
type standing string

// The standings.
const (
	standingChosen     standing = "chosen"
	standingSame       standing = "same_machine"
	standingTemplate   standing = "template"
	standingSecondary  standing = "secondary" // of a Fault Tolerance pair
	standingOff        standing = "powered_off"
	standingOutside    standing = "outside_datacenters"
	standingUnreadable standing = "unreadable" // so that it may be the Node's
	standingEqual      standing = "undecided"  // something that is not known decides
)

// standingText says it for a person.
var standingText = map[standing]string{
	standingChosen:     "is the machine",
	standingSame:       "is the same machine, by another entry of its vCenter",
	standingTemplate:   "a template is not a Node's machine",
	standingSecondary:  "a Fault Tolerance secondary is not a Node's machine",
	standingOff:        "is off, and another one runs",
	standingOutside:    "is in none of the configured datacenters",
	standingUnreadable: "cannot be read, and may be it",
	standingEqual:      "fits, and is not certain to be it",
}

// candidates returns all machines that fit what a Node says, the chosen one first if
// inventory.Find returns one, and those of which no UUID is known and that may therefore be the Node's.
func candidates(states []inventory.State, id inventory.Identity) []Candidate {
	chosen, err := inventory.Find(states, id)
	if err != nil {
		chosen = nil
	}
	var all []Candidate
	for _, s := range states {
		if s.Snapshot != nil {
			l := lineup{states, s.Snapshot, chosen, nil}
			l.addAll(s, id)
			all = append(all, l.all...)
		}
	}
	slices.SortStableFunc(all, func(a, b Candidate) int { return b.rank() - a.rank() })
	return all
}

func (c *Candidate) rank() int {
	switch standing(c.Standing) {
	case standingChosen:
		return 2
	case standingUnreadable:
		return 0
	}
	return 1
}

// A lineup is the candidates of one vCenter.
type lineup struct {
	states   []inventory.State
	snapshot *inventory.Snapshot
	chosen   *inventory.Machine
	all      []Candidate
}

func (l *lineup) addAll(s inventory.State, id inventory.Identity) {
	for _, u := range id.UUIDs {
		for _, e := range l.snapshot.Entries(u) {
			l.add(e, u.String(), false, "")
		}
	}
	if len(id.UUIDs) == 0 {
		for _, e := range l.snapshot.Names[id.Name] {
			suffix := ""
			if e.ByHostName {
				suffix = " (by the guest's host name)"
			}
			l.add(e.Entry, "", false, suffix)
		}
		return
	}
	outside := slices.Clone(l.snapshot.Outside)
	recorded, is := id.RecordedIn(l.snapshot)
	if is && !recorded.Unreadable {
		outside = append(outside, recorded.ID)
	}
	for _, moid := range outside {
		if m := l.snapshot.Machines[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
			l.add(inventory.Entry{ID: moid}, "", true, "")
		}
	}
	if l.chosen != nil {
		return
	}
	if is && recorded.Unreadable && !recorded.Template {
		l.add(recorded, "", false, "")
	}
	for _, moid := range slices.Sorted(maps.Keys(l.snapshot.Unreadable)) {
		if !id.IsAnother(s, moid, l.snapshot.Unreadable[moid]) {
			l.add(inventory.Entry{ID: moid, Unreadable: true}, "", false, "")
		}
	}
}

// add adds a machine unless it is there.
func (l *lineup) add(e inventory.Entry, uuid string, outside bool, suffix string) {
	ref := l.snapshot.Ref(e.ID)
	if slices.ContainsFunc(l.all, func(o Candidate) bool { return o.ID == e.ID }) {
		return
	}
	is := l.standing(ref, e, outside)
	c := Candidate{VCenter: ref.VCenter, ID: ref.ID, UUID: uuid, Standing: string(is)}
	if m := l.snapshot.Machines[e.ID]; m != nil {
		c.Path, c.PoweredOn = m.InventoryPath, m.Power == inventory.PowerOn
	}
	c.text = ref.Located(c.Path) + ": " + standingText[is] + suffix
	l.all = append(l.all, c)
}

func (l *lineup) standing(ref topology.Ref, e inventory.Entry, outside bool) standing {
	m := l.snapshot.Machines[e.ID]
	switch {
	case l.chosen != nil && l.chosen.Ref == ref:
		return standingChosen
	case l.chosen != nil && inventory.IsSameMachine(l.states, l.chosen.Ref, ref, l.snapshot.Instance):
		return standingSame
	case e.Template:
		return standingTemplate
	case m != nil && m.Secondary:
		return standingSecondary
	case outside:
		return standingOutside
	case e.Unreadable:
		return standingUnreadable
	case l.chosen != nil && m != nil && m.Power.IsOff():
		return standingOff
	}
	return standingEqual
}
