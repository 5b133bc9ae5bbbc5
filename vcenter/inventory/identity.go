package inventory

import (
	"fmt"
	"strings"
	"time"

	"vzones/topology"
)

// An Identity is what a Node tells about its machine.
type Identity struct {
	// UUIDs are the forms that the machine's UUID may have; a machine with any
	// of them matches.
	UUIDs []UUID
	// Name is the Node's name. It counts only where UUIDs is empty.
	Name string
	// Known is where the machine was found last, zero if nothing tells. It has
	// a UUID then, and UUIDs is that one.
	Known topology.Ref
	// KnownIn is the own UUID of that vCenter, empty if nothing tells.
	KnownIn string
	// Seen is when the machine was last seen, zero if it was not since this
	// process began.
	Seen Sighting
}

// A Sighting says that a machine was in a vCenter at a time.
type Sighting struct {
	VCenter string
	At      time.Time
	// Instance is the own UUID of that vCenter, empty if it is not known.
	Instance string
}

func (id Identity) String() string {
	if len(id.UUIDs) == 0 {
		return fmt.Sprintf("name %q", id.Name)
	}
	forms := make([]string, len(id.UUIDs))
	for i, u := range id.UUIDs {
		forms[i] = u.String()
	}
	return "UUID " + strings.Join(forms, " or ")
}

// moveTime is longer than moving a machine from one vCenter to another takes.
// While it lasts, the machine is in both.
const moveTime = time.Hour

// another says whether a machine without a known UUID, that is seen since then,
// is certainly not the Node's. It is not if it was there beside the Node's: in
// one vCenter a machine is there once, and in another for as long as a move takes.
func (id Identity) another(vcenter string, since time.Time) bool {
	if id.Seen.VCenter == vcenter {
		return !since.After(id.Seen.At)
	}
	return !since.Add(moveTime).After(id.Seen.At)
}
