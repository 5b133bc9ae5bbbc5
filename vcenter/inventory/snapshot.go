package inventory

import (
	"slices"
	"time"

	"vzones/topology"
)

// A Snapshot is what was read of one vCenter at one time. It is never changed.
type Snapshot struct {
	VCenter string
	// Instance is the vCenter's own UUID, whatever name and address it has in the
	// configuration. It is empty if the vCenter does not report it.
	Instance string
	// ReadAt is when the snapshot was made. Until then the vCenter had reported
	// no change that is not in it.
	ReadAt time.Time
	// Incomplete says why machines of the configured datacenters may be
	// missing from the index. Nil means that none is.
	Incomplete error
	// VisibleDatacenters are the inventory paths of the datacenters that the account sees, as they
	// are shown, in order. It is empty unless a configured one is missing.
	VisibleDatacenters []string
	// Index has all machines of the configured datacenters whose UUID is known,
	// templates included. The machines of a UUID that is in Recent are there instead: Entries looks them up.
	Index, Recent map[UUID][]Entry
	// Unreadable are the machines of the configured datacenters of which no
	// UUID was ever known, by managed object ID, and when they were first seen.
	// Inaccessible and orphaned machines exist, whatever their UUID is, and so do
	// clones in their first seconds.
	Unreadable map[string]FirstSeen
	// Outside are the followed machines that are in the vCenter but in none of
	// the configured datacenters, in order. Their details are in Machines.
	Outside []string
	// Recorded are the machines that are recorded on Nodes and known from these records
	// only, by managed object ID: unreadable ones, whose UUID was never known, and ones in
	// none of the configured datacenters, whose details are in Machines. Each counts for
	// the Nodes with that record and for no other Node.
	Recorded map[string]Entry
	// Homes has what the vCenter said of machines that Nodes were last found as and that it does
	// not show, by managed object ID. One that is not a key was not asked about.
	Homes map[string]Reply
	// Names has the machines whose guest host name or own name is that of a
	// followed Node without a UUID, each once, by the Node's name. A name that is not a key
	// was not looked for yet; no machine has a name whose list is empty.
	Names map[string][]NameEntry
	// InvisibleCategories are the tag categories of the configuration that the vCenter
	// does not show to the account, in that order. They may not exist, or the account may
	// not read them. It is empty where they could not be asked for.
	InvisibleCategories []string
	// VisibleCategories are all that it shows, in order, where one of the configuration is
	// invisible.
	VisibleCategories []string
	// NotPermitted are the objects above machines that are followed whose tags the
	// account may not read, in order.
	NotPermitted []topology.Ref
	// Machines has the details of the machines that are followed, by managed
	// object ID. Those of an unreadable one are its name and place.
	Machines map[string]*Machine
}

// A Reply is what a vCenter says of a managed object.
type Reply int

// The replies. Only Gone is evidence that a managed object does not exist.
const (
	// Unasked: it was not asked, or has not answered yet.
	Unasked Reply = iota
	// Gone: the managed object does not exist.
	Gone
	// Hidden: the account may not see it, so that it may exist.
	Hidden
	// There: it exists, and its UUID is not known.
	There
	// Other: it exists and is not the Node's machine any more: a template, or one with another UUID.
	Other
)

// FirstSeen is when a machine was first seen.
type FirstSeen struct {
	At time.Time
	// Arrived reports whether the machine came at that time, while all others were
	// known. Otherwise it was there when the vCenter was read, and may have come at
	// any time before.
	Arrived bool
}

// An Entry is all that is kept of a machine that does not belong to a Node.
type Entry struct {
	// ID is the managed object ID.
	ID       string
	Template bool
	// Unreadable says that the configuration cannot be read now; the UUID is
	// what was known before.
	Unreadable bool
}

// Entries returns the machines of the configured datacenters with a UUID, in order of their IDs.
func (s *Snapshot) Entries(u UUID) []Entry {
	if changed, ok := s.Recent[u]; ok {
		return changed
	}
	return s.Index[u]
}

// Len returns how many UUIDs machines of the configured datacenters have.
func (s *Snapshot) Len() int {
	n := len(s.Index)
	for u, entries := range s.Recent {
		n += min(len(entries), 1) - min(len(s.Index[u]), 1)
	}
	return n
}

// isEligible reports whether a machine can be a Node's: it is no template and not known to be the secondary of
// a Fault Tolerance pair.
func (s *Snapshot) isEligible(e Entry) bool {
	m := s.Machines[e.ID]
	return !e.Template && (m == nil || !m.Secondary)
}

// A NameEntry is a machine that was found by name.
type NameEntry struct {
	Entry
	// ByHostName says that the guest host name matched, not only the machine's
	// own name.
	ByHostName bool
}

// State is what is known of one vCenter now. It is never changed.
type State struct {
	VCenter string
	// Address is the configured address, in one form for each way to write it. Two
	// entries with the same one are one vCenter.
	Address string
	// Snapshot is the latest one, nil before the first.
	Snapshot *Snapshot
	// Err says why the vCenter cannot be read now. Nil means that Snapshot has every change that the vCenter has
	// reported. It may report changes of VMs without a Node a poll later: see watch.Inbox.CatchUp.
	Err error
	// Outdated reports whether Snapshot initializes no Node, however new it is: it was read with another
	// configuration, or the vCenter answers and is about to be read again. Err is not nil then.
	Outdated bool
	// Cause is what Err says. A login that is postponed keeps the cause of the failure before it.
	Cause Cause
	// Overdue reports whether the vCenter was neither read nor failed in the time that
	// it has for that after it is configured. Then it may be hung, and other vCenters'
	// machines count without it.
	Overdue bool
	// NextLogin is when the vCenter is logged in to again that has rejected a login or
	// not answered it. It is zero if nothing waits for that.
	NextLogin time.Time
	// LastContact is when the vCenter last answered, zero if it never did. Snapshot has
	// all that it had reported by then.
	LastContact time.Time
	// TagNames says how old the names of the tags in Snapshot are.
	TagNames TagNames
}

// TagNames says when the names of the tags of some categories were read: the oldest of
// them. What is attached to which object is read more often.
type TagNames struct {
	ReadAt     time.Time
	Categories []string
}

// ReadSince reports whether the names of all tags of these categories were read at a time or
// later.
func (n TagNames) ReadSince(t time.Time, categories []string) bool {
	return !n.ReadAt.Before(t) && !slices.ContainsFunc(categories, func(name string) bool { return !slices.Contains(n.Categories, name) })
}

// StateOf returns the state of a vCenter, zero if it is not among them.
func StateOf(states []State, vcenter string) State {
	for _, s := range states {
		if s.VCenter == vcenter {
			return s
		}
	}
	return State{}
}

// Ref returns the reference of a machine of the snapshot.
func (s *Snapshot) Ref(id string) topology.Ref {
	return topology.Ref{VCenter: s.VCenter, Type: "VirtualMachine", ID: id}
}

// describe names a machine for a person: by inventory path where that is known, by managed
// object ID otherwise.
func (s *Snapshot) describe(id string) string {
	if m := s.Machines[id]; m != nil {
		return s.Ref(id).Located(m.InventoryPath)
	}
	return s.Ref(id).Located("")
}
