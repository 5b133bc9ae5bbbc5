package watch

import (
	"slices"
	"strings"
	"sync/atomic"

	"vzones/topology"
	"vzones/topology/signal"
	"vzones/vcenter/inventory"
)

// Requirements are what is read of a vCenter besides machines.
type Requirements struct {
	// Tags reports whether tags are read at all: without a rule none are needed.
	Tags bool
	// Categories are the tag categories that are needed. Snapshots show which of them the
	// vCenter does not have.
	Categories []string
	// Paths are the paths whose objects' tags are read; all if empty.
	Paths []topology.PathKind
	// HostGroups reports whether the DRS host groups of clusters are read, and
	// FaultDomains whether the vSAN fault domains of hosts are.
	HostGroups, FaultDomains bool
}

// An Inbox has the requests to the watches of one vCenter, one after the other. Any
// goroutine may write to it at any time; the watch that runs reads it.
type Inbox struct {
	interest atomic.Pointer[Interest]
	required atomic.Pointer[Requirements]

	// interestChanged is about interest, and about the paths of tags.
	interestChanged signal.Signal
	// probe asks for a proof that the vCenter answers.
	probe signal.Signal
	// refreshTags asks for tags to be read now, readNames for names of tags that are
	// recent.
	refreshTags, readNames signal.Signal
	homes                  homeQuestions
}

// NewInbox returns an inbox that requires these tags and no machines.
func NewInbox(required *Requirements) *Inbox {
	i := &Inbox{
		interestChanged: signal.New(), probe: signal.New(), refreshTags: signal.New(), readNames: signal.New(),
	}
	i.homes.changed = signal.New()
	i.interest.Store(NewInterest(nil))
	i.required.Store(required)
	return i
}

// Follow replaces the interest.
func (i *Inbox) Follow(now *Interest) {
	i.interest.Store(now)
	i.interestChanged.Notify()
}

// Require replaces which tags are read. The watch that runs follows the change if it goes on.
func (i *Inbox) Require(now *Requirements, goesOn bool) {
	before := i.required.Swap(now)
	switch {
	case !goesOn:
	case !slices.Equal(before.Paths, now.Paths):
		i.interestChanged.Notify() // other objects' tags may be required
		i.refreshTags.Notify()
	case !slices.Equal(before.Categories, now.Categories):
		i.refreshTags.Notify()
	}
}

// Probe has the vCenter prove that it answers.
func (i *Inbox) Probe() { i.probe.Notify() }

// ReadTags has tags read soon, with names that are recent.
func (i *Inbox) ReadTags() { i.readNames.Notify() }

// An Interest is the Nodes whose machines' details are wanted. It is never changed.
type Interest struct {
	uuids map[inventory.UUID]bool
	// names are the Nodes without a UUID, by their lower-case name.
	names map[string]string
	// annotated are the machines that Nodes name as those they were found as. Kubelets can write
	// that: it decides about no other Node's machine.
	annotated []inventory.LastSeen
}

// annotatedIn returns the machines that Nodes name in a vCenter, by managed object ID.
func (i *Interest) annotatedIn(entry, instance string) map[string]bool {
	ids := map[string]bool{}
	for _, was := range i.annotated {
		if was.IsIn(entry, instance) {
			ids[was.ID] = true
		}
	}
	return ids
}

// NewInterest returns the interest in the machines of these Nodes.
func NewInterest(ids []inventory.Identity) *Interest {
	i := &Interest{uuids: map[inventory.UUID]bool{}, names: map[string]string{}}
	for _, id := range ids {
		for _, u := range id.UUIDs {
			i.uuids[u] = true
		}
		if len(id.UUIDs) == 0 {
			i.names[strings.ToLower(id.Name)] = id.Name
		}
		if vc := id.Recorded.VCenter; vc != "" && len(id.UUIDs) == 1 {
			i.annotated = append(i.annotated, inventory.LastSeen{VCenter: vc, Instance: id.RecordedInstance, ID: id.Recorded.ID})
		}
	}
	return i
}
