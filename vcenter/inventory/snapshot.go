package inventory

import (
	"slices"
	"time"

	"vzones/topology"
)

// A Snapshot is the immutable content of one vCenter at one time. Its maps with string keys are keyed by managed
// object ID, except Names.
type Snapshot struct {
	VCenter  string
	Instance string
	// ReadAt is the time until which it contains every reported change.
	ReadAt time.Time
	// Incomplete is the reason VMs may be missing from the index.
	Incomplete error
	// VisibleDatacenters are the inventory paths of the datacenters that the account sees, empty unless
	// a configured datacenter is missing.
	VisibleDatacenters []string
	// Index and Recent contain all VMs of the configured datacenters with a known UUID, templates included.
	// Recent takes precedence for its UUIDs.
	Index, Recent map[UUID][]Entry
	// Unreadable contains the VMs of the configured datacenters whose UUID was never known: inaccessible and
	// orphaned VMs, and clones in their first seconds.
	Unreadable map[string]FirstSeen
	// Outside are the sorted IDs of Nodes' VMs outside the configured datacenters.
	Outside []string
	// Recorded contains VMs that a Node's annotation names and that cannot be found by UUID in the configured datacenters:
	// their UUID was never known, or they are outside. An entry applies only to Nodes with that record.
	Recorded map[string]Entry
	Homes    map[string]Reply
	// Names contains the VMs found for each name of a Node without a UUID. Names not yet searched for are missing.
	Names map[string][]NameEntry
	// InvisibleCategories are the configured tag categories that do not exist or cannot be read.
	InvisibleCategories []string
	// VisibleCategories are all readable categories, sorted, unless InvisibleCategories is empty.
	VisibleCategories []string
	// NotPermitted are the sorted ancestors of Nodes' VMs whose tags the account may not read.
	NotPermitted []topology.Ref
	// VMs contains the details of Nodes' VMs. An unreadable VM has only Name, InventoryPath and WasOff.
	VMs map[string]*VM
}

// A Reply is a vCenter's answer about a home, the last known managed object of a Node's VM, that is missing from the
// snapshot.
type Reply int

// The replies. Only Gone is evidence that a managed object does not exist.
const (
	Unasked Reply = iota
	Gone
	// Hidden: the account may not see the object, so it may exist.
	Hidden
	// Present: the object exists with an unknown UUID.
	Present
	// Different: the object exists as a template or with another UUID.
	Different
)

// FirstSeen records when a VM was first seen.
type FirstSeen struct {
	At time.Time
	// Arrived reports whether the VM appeared then, while all other VMs were known. Otherwise it may be older.
	Arrived bool
}

// An Entry identifies a VM of a vCenter.
type Entry struct {
	ID       string
	Template bool
	// Unreadable reports whether the configuration cannot be read. Index and Recent then contain the Entry under its last
	// known UUID.
	Unreadable bool
}

// Entries returns the VMs with UUID u in the configured datacenters, sorted by ID.
func (s *Snapshot) Entries(u UUID) []Entry {
	if changed, ok := s.Recent[u]; ok {
		return changed
	}
	return s.Index[u]
}

// Len returns the number of distinct UUIDs in the index.
func (s *Snapshot) Len() int {
	n := len(s.Index)
	for u, entries := range s.Recent {
		n += min(len(entries), 1) - min(len(s.Index[u]), 1)
	}
	return n
}

func (s *Snapshot) isEligible(e Entry) bool {
	m := s.VMs[e.ID]
	return !e.Template && (m == nil || !m.Secondary)
}

// A NameEntry is a VM found by name.
type NameEntry struct {
	Entry
	ByHostName bool
}

// State is the immutable current state of one vCenter.
type State struct {
	VCenter string
	// Address is in canonical form.
	Address  string
	Snapshot *Snapshot
	// Err is the reason the vCenter cannot be read. If it is nil, Snapshot contains every reported change, possibly
	// a poll late for VMs without a Node.
	Err error
	// Outdated reports whether Snapshot must not initialize Nodes, because the configuration has changed or the
	// vCenter is about to be read again.
	Outdated bool
	// Cause classifies Err. A postponed login keeps the cause of the failure before it.
	Cause Cause
	// Overdue reports whether reading the vCenter neither succeeded nor failed in time.
	Overdue bool
	// NextLogin is the time of the next attempt after a rejected or unanswered login.
	NextLogin time.Time
	// LastContact is the time of the last answer. Snapshot contains all changes until then, but changes of VMs without a
	// Node may be a poll late.
	LastContact time.Time
	// WatchedSince is the start of the uninterrupted watch that read Snapshot.
	WatchedSince time.Time
	TagNames     TagNames
}

// TagNames records when the tag names of all Categories were read: ReadAt is the oldest time.
type TagNames struct {
	ReadAt     time.Time
	Categories []string
}

// ReadSince reports whether the names of all tags of the categories were read at t or later.
func (n TagNames) ReadSince(t time.Time, categories []string) bool {
	return !n.ReadAt.Before(t) && !slices.ContainsFunc(categories, func(name string) bool { return !slices.Contains(n.Categories, name) })
}

// StateOf returns the state of the vCenter with the configured name, or the zero State.
func StateOf(states []State, vcenter string) State {
	for _, s := range states {
		if s.VCenter == vcenter {
			return s
		}
	}
	return State{}
}

// Ref returns the reference of a VM in the snapshot.
func (s *Snapshot) Ref(id string) topology.Ref {
	return topology.Ref{VCenter: s.VCenter, Type: "VirtualMachine", ID: id}
}

func (s *Snapshot) describe(id string) string {
	if m := s.VMs[id]; m != nil {
		return s.Ref(id).Located(m.InventoryPath)
	}
	return s.Ref(id).Located("")
}
