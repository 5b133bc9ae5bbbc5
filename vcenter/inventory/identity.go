package inventory

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"vzones/internal/quote"
	"vzones/topology"
)

// An Identity is what a Node says about its machine.
type Identity struct {
	// UUIDs are the forms that the machine's UUID may have; a machine with any
	// of them matches.
	UUIDs []UUID
	// Name is the Node's name. It counts only where UUIDs is empty.
	Name string
	// Recorded is where the machine was last found by the record on the Node, an
	// annotation; zero if it has none. With a record the Node has a UUID. The kubelet may have
	// written the record, so it applies to this Node only.
	Recorded topology.Ref
	// RecordedInstance is the own UUID of that vCenter, empty if the record has none.
	RecordedInstance string
	// RecordedVM is the VM's instance UUID in the record, zero if it has none.
	RecordedVM UUID
	// LastSeen is where this process last saw the machine, zero if it never did.
	LastSeen LastSeen
	// Joins reports whether the Node is to be initialized.
	Joins bool
	// OutlivedHome reports whether the Node stayed ready while its home was off, for longer than a kubelet
	// can be silent before its Node is not ready.
	OutlivedHome bool
	// Addresses are those that the Node has.
	Addresses []netip.Addr
	// Seen reports whether this process has ever found the VM, also while its Node was joining.
	Seen bool
}

// LastSeen says when a machine was last in a vCenter.
type LastSeen struct {
	VCenter string
	// ID is the managed object ID.
	ID string
	At time.Time
	// Instance is the own UUID of that vCenter, empty if it is not known.
	Instance string
	// Name is the machine's name, empty if it is not known.
	Name string
	// VM is the VM's instance UUID, zero if it is not known.
	VM UUID
}

// MachineKey returns a key of the machine. It stays the same when a Node gets its provider ID, which rules out
// the other byte order of its UUID.
func (id Identity) MachineKey() string {
	if len(id.UUIDs) == 0 {
		return id.Name
	}
	u := id.UUIDs[0]
	return min(u.String(), u.Swapped().String())
}

func (id Identity) String() string {
	if len(id.UUIDs) == 0 {
		return "name " + quote.Value(id.Name)
	}
	forms := make([]string, len(id.UUIDs))
	for i, u := range id.UUIDs {
		forms[i] = u.String()
	}
	return "UUID " + strings.Join(forms, " or ")
}

// RecordedIn returns the machine of the Node's record, if the snapshot knows it from such
// records only.
func (id Identity) RecordedIn(s *Snapshot) (Entry, bool) {
	if s == nil || id.Recorded.ID == "" || !(LastSeen{VCenter: id.Recorded.VCenter, Instance: id.RecordedInstance}).IsIn(s.VCenter, s.Instance) {
		return Entry{}, false
	}
	e, ok := s.Recorded[id.Recorded.ID]
	return e, ok
}

const (
	// moveTime is longer than the target of a move between vCenters can be without
	// a readable configuration.
	moveTime = time.Hour
	// lastSeenLag is how long a machine may still have been in its vCenter after it
	// was last seen there: a long poll, and a sync of all Nodes.
	lastSeenLag = 2 * time.Minute
)

// IsAnother reports whether a machine without a known UUID is certainly not the
// Node's, whose machine this process last saw as id.LastSeen.
//
// One vCenter has a machine once. So in the vCenter that had the Node's, it is
// another one if it was there beside it. If it has come since, it may be the Node's that
// was registered again, unless it has another name.
//
// Another vCenter may have it as the target of a move, which comes while the
// source is still there, and whose configuration can be read before the source goes.
// So it is another one if it came after the Node's was gone, or if its configuration
// could not be read for longer than a move takes.
func (id Identity) IsAnother(s State, moid string, first FirstSeen) bool {
	seen := id.LastSeen
	here := seen.IsIn(s.VCenter, s.Snapshot.Instance)
	switch {
	case seen.VCenter == "" || here && seen.ID == moid:
		return false
	case here:
		return !first.At.After(seen.At) || first.Arrived && s.Snapshot.isNamedOtherwise(moid, seen.Name)
	case first.Arrived && first.At.After(seen.At.Add(lastSeenLag)):
		return true
	}
	latest := seen.At
	if s.LastContact.After(latest) {
		latest = s.LastContact
	}
	return !first.At.Add(moveTime).After(latest)
}

// isNamedOtherwise reports whether a machine certainly has another name. While its files cannot be read
// the vCenter may show a path in place of its name, in which a slash is %2f.
func (s *Snapshot) isNamedOtherwise(moid, name string) bool {
	m := s.Machines[moid]
	if m == nil || m.Name == "" || name == "" || m.Name == name || m.Name == "Unknown" {
		return false
	}
	now := strings.ToLower(m.Name)
	isPath := strings.ContainsAny(now, `/\`) || strings.Contains(now, "%2f") || strings.Contains(now, "%5c") || strings.HasSuffix(now, ".vmx")
	return !isPath
}

// last returns where the Node's VM was last found, zero if it never was. The record on the Node takes
// precedence over what this process saw, so that a restart changes nothing.
func (id Identity) last() LastSeen {
	if id.Recorded.VCenter != "" {
		return LastSeen{VCenter: id.Recorded.VCenter, ID: id.Recorded.ID, Instance: id.RecordedInstance, VM: id.RecordedVM}
	}
	return id.LastSeen
}

// WasFound reports whether the Node's VM was found before, by the Node's record or by this process.
func (id Identity) WasFound() bool { return id.last().VCenter != "" }

// ownFirst returns the states with those of the vCenter first in which the Node's machine
// was last found: a text says first what a person looks for.
func (id Identity) ownFirst(states []State) []State {
	last := id.last()
	if last.VCenter == "" || len(states) < 2 {
		return states
	}
	distance := func(s State) int {
		if last.mayBeIn(s) {
			return 0
		}
		return 1
	}
	sorted := slices.Clone(states)
	slices.SortStableFunc(sorted, func(a, b State) int { return distance(a) - distance(b) })
	return sorted
}
