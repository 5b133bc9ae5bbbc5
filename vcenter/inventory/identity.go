package inventory

import (
	"strings"
	"time"

	"vzones/topology"
	"vzones/topology/quote"
)

// An Identity is what a Node tells about its machine.
type Identity struct {
	// UUIDs are the forms that the machine's UUID may have; a machine with any
	// of them matches.
	UUIDs []UUID
	// Name is the Node's name. It counts only where UUIDs is empty.
	Name string
	// Known is where the machine was found last, as the Node tells, zero if it does not.
	// It has a UUID then, and UUIDs is that one. Its kubelet may have written it, so it
	// counts for this Node only.
	Known topology.Ref
	// KnownIn is the own UUID of that vCenter, empty if nothing tells.
	KnownIn string
	// Seen is when the machine was last seen, zero if it was not since this
	// process began.
	Seen LastSeen
	// Waited reports whether vCenters with index: followed had the time to be searched
	// for it. One that was not by then is not waited for.
	Waited bool
}

// A LastSeen says that a machine was in a vCenter at a time.
type LastSeen struct {
	VCenter string
	// ID is the managed object ID.
	ID string
	At time.Time
	// Instance is the own UUID of that vCenter, empty if it is not known.
	Instance string
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

// recorded returns the machine that the Node says its machine was found as, if only Nodes name
// of it.
func (id Identity) recorded(s *Snapshot) (Entry, bool) {
	switch {
	case s == nil || id.Known.VCenter != s.VCenter:
		return Entry{}, false
	case id.KnownIn != "" && s.Instance != "" && id.KnownIn != s.Instance:
		return Entry{}, false // the vCenter of that name is another one now
	}
	e, ok := s.Told[id.Known.ID]
	return e, ok
}

const (
	// moveTime is longer than the target of a move between vCenters can be without
	// a readable configuration.
	moveTime = time.Hour
	// lastSeenLag is how long a machine may still have been in its vCenter after it
	// was last seen there: a long poll, and a round through the Nodes.
	lastSeenLag = 2 * time.Minute
)

// isAnother reports whether a machine without a known UUID is certainly not the
// Node's, whose machine was last seen by this process as id.Seen.
//
// One vCenter has a machine once. So in the vCenter that had the Node's, it is
// another one if it was there beside it, or if it has come since: a managed object
// does not get another ID.
//
// Another vCenter may have it as the target of a move, which comes while the
// source is still there, and whose configuration can be read before the source goes.
// So it is another one if it came after the Node's was gone, or if its configuration
// could not be read for longer than a move takes.
func (id Identity) isAnother(s State, moid string, first FirstSeen) bool {
	seen := id.Seen
	here := seen.VCenter == s.VCenter || seen.isIn(s.Snapshot)
	switch {
	case seen.VCenter == "" || here && seen.ID == moid:
		return false
	case here:
		return first.Arrived || !first.At.After(seen.At)
	case first.Arrived && first.At.After(seen.At.Add(lastSeenLag)):
		return true
	}
	latest := seen.At
	if s.Contact.After(latest) {
		latest = s.Contact
	}
	return !first.At.Add(moveTime).After(latest)
}
