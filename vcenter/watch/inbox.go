package watch

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"vzones/internal/signal"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
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
	// probe asks for a proof that the vCenter answers, poll for the end of a rest.
	probe, poll signal.Signal
	// refreshTags asks for tags to be read now, readNames for names of tags that are
	// recent.
	refreshTags, readNames signal.Signal
	homes                  homeQuestions
	// catchUps are closed when the model has what was reported.
	catchUps chan chan<- struct{}
}

// NewInbox returns an inbox that requires these tags and no machines.
func NewInbox(required *Requirements) *Inbox {
	i := &Inbox{
		interestChanged: signal.New(), probe: signal.New(), poll: signal.New(), refreshTags: signal.New(), readNames: signal.New(),
		catchUps: make(chan chan<- struct{}),
	}
	i.homes.changed = signal.New()
	i.interest.Store(NewInterest(nil, nil))
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

// Poll has the vCenter polled soon for changes, also while the polls rest because only VMs without a Node change.
func (i *Inbox) Poll() { i.poll.Notify() }

// CatchUp waits until a snapshot has everything that the vCenter has reported by now, also of VMs without a Node.
func (i *Inbox) CatchUp(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case i.catchUps <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
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
	// joining has the UUIDs of each Node that is not initialized yet, none if it has no UUID, by the key of its
	// VM. lastJoined is when the last of them came.
	joining    map[string][]inventory.UUID
	lastJoined time.Time
}

// joinTime is how long the changes of all VMs are polled at the usual pace for a Node that has joined and whose VM is
// not shown yet.
const joinTime = 15 * time.Second

// isJoining reports whether a Node has joined lately whose VM neither the model nor a look-up by name has.
func (i *Interest) isJoining(m *model.Model, named map[string][]inventory.NameEntry) bool {
	if time.Since(i.lastJoined) > joinTime {
		return false
	}
	for key, uuids := range i.joining {
		isShown := slices.ContainsFunc(uuids, func(u inventory.UUID) bool { return len(m.Entries(u)) > 0 })
		if !isShown && len(named[key]) == 0 {
			return true
		}
	}
	return false
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

// NewInterest returns the interest in the machines of these Nodes, which follows on another one, nil if it is the first.
func NewInterest(ids []inventory.Identity, before *Interest) *Interest {
	i := &Interest{uuids: map[inventory.UUID]bool{}, names: map[string]string{}, joining: map[string][]inventory.UUID{}}
	if before != nil {
		i.lastJoined = before.lastJoined
	}
	for _, id := range ids {
		if id.Joins {
			key := id.MachineKey()
			i.joining[key] = id.UUIDs
			if before == nil || !before.has(key) {
				i.lastJoined = time.Now()
			}
		}
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

func (i *Interest) has(key string) bool {
	_, ok := i.joining[key]
	return ok
}
