package inventory

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"vzones/internal/quote"
	"vzones/topology"
)

// An Identity identifies the VM of a Node.
type Identity struct {
	// UUIDs are the BIOS UUID in its possible byte orders.
	UUIDs []UUID
	// Name applies only if UUIDs is empty.
	Name string
	// Recorded is the VM in the Node's annotation, and applies to this Node only (decision 0033). A Node with a
	// record has a UUID.
	Recorded topology.Ref
	// RecordedInstance is the vCenter's instance UUID in the record, RecordedVM the VM's.
	RecordedInstance string
	RecordedVM       UUID
	// LastSeen is this process's memory of the VM.
	LastSeen LastSeen
	// IsJoining reports whether the Node is not initialized yet.
	IsJoining    bool
	OutlivedHome bool
	Addresses    []netip.Addr
	// Seen reports whether this process has ever found the VM.
	Seen bool
}

// LastSeen records where a VM was last seen. Instance is the vCenter's instance UUID, VM the VM's. Unknown fields are
// zero.
type LastSeen struct {
	VCenter  string
	ID       string
	At       time.Time
	Instance string
	Name     string
	VM       UUID
}

// VMKey returns a key of the VM that does not depend on the byte order of the UUID.
func (id Identity) VMKey() string {
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

// RecordedIn returns the VM of the Node's record if the snapshot knows it only from such records.
func (id Identity) RecordedIn(s *Snapshot) (Entry, bool) {
	if s == nil || id.Recorded.ID == "" || !(LastSeen{VCenter: id.Recorded.VCenter, Instance: id.RecordedInstance}).IsIn(s.VCenter, s.Instance) {
		return Entry{}, false
	}
	e, ok := s.Recorded[id.Recorded.ID]
	return e, ok
}

const (
	// moveTime exceeds the time in which the target of a move between vCenters is unreadable.
	moveTime = time.Hour
	// lastSeenLag is the longest time by which LastSeen.At can be late: a long poll and a sync of all Nodes.
	lastSeenLag = 2 * time.Minute
)

// IsOtherVM reports whether an unreadable VM is certainly not the Node's VM.
//
// In the last vCenter, both VMs must have existed at the same time, or the unreadable VM must have arrived later
// with another name. Otherwise it may be the Node's VM, registered again. In another vCenter, it may be the target
// of a move, so it must have arrived after the source was gone, or be unreadable for longer than a move takes.
func (id Identity) IsOtherVM(s State, moid string, first FirstSeen) bool {
	seen := id.LastSeen
	isLastVCenter := seen.IsIn(s.VCenter, s.Snapshot.Instance)
	switch {
	case seen.VCenter == "" || isLastVCenter && seen.ID == moid:
		return false
	case isLastVCenter:
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

// isNamedOtherwise reports whether a VM certainly has another name. While its files are inaccessible, its name
// may be a path with slashes as %2f.
func (s *Snapshot) isNamedOtherwise(moid, name string) bool {
	m := s.VMs[moid]
	if m == nil || m.Name == "" || name == "" || m.Name == name || m.Name == "Unknown" {
		return false
	}
	current := strings.ToLower(m.Name)
	isPath := strings.ContainsAny(current, `/\`) || strings.Contains(current, "%2f") || strings.Contains(current, "%5c") || strings.HasSuffix(current, ".vmx")
	return !isPath
}

// lastPlace prefers the record to this process's memory, so that a restart changes nothing.
func (id Identity) lastPlace() LastSeen {
	if id.Recorded.VCenter != "" {
		return LastSeen{VCenter: id.Recorded.VCenter, ID: id.Recorded.ID, Instance: id.RecordedInstance, VM: id.RecordedVM}
	}
	return id.LastSeen
}

// WasFound reports whether the Node has a record, or this process has found the VM.
func (id Identity) WasFound() bool { return id.lastPlace().VCenter != "" }

func (id Identity) lastVCenterFirst(states []State) []State {
	last := id.lastPlace()
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
