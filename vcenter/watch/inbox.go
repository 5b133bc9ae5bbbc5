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

// Requirements select the data that a watch reads besides VMs.
type Requirements struct {
	Tags bool
	// Categories are the tag categories in use.
	Categories []string
	// Paths select the objects whose tags are read, all if empty.
	Paths []topology.PathKind
	// HostGroups and FaultDomains select DRS host groups and vSAN fault domains.
	HostGroups, FaultDomains bool
}

// An Inbox takes requests to the successive watches of one vCenter. It is safe for concurrent use.
type Inbox struct {
	interest atomic.Pointer[Interest]
	required atomic.Pointer[Requirements]

	interestChanged        signal.Signal
	probe, endPause        signal.Signal
	refreshTags, readNames signal.Signal
	homes                  homeQuestions
	catchUps               chan chan<- struct{}
}

// NewInbox returns an inbox with an empty interest.
func NewInbox(required *Requirements) *Inbox {
	i := &Inbox{
		interestChanged: signal.New(), probe: signal.New(), endPause: signal.New(), refreshTags: signal.New(), readNames: signal.New(),
		catchUps: make(chan chan<- struct{}),
	}
	i.homes.changed = signal.New()
	i.interest.Store(NewInterest(nil, nil))
	i.required.Store(required)
	return i
}

// Follow replaces the interest.
func (i *Inbox) Follow(interest *Interest) {
	i.interest.Store(interest)
	i.interestChanged.Notify()
}

// Require replaces the requirements. If watchContinues is set, it notifies the running watch.
func (i *Inbox) Require(required *Requirements, watchContinues bool) {
	previous := i.required.Swap(required)
	switch {
	case !watchContinues:
	case !slices.Equal(previous.Paths, required.Paths):
		i.interestChanged.Notify()
		i.refreshTags.Notify()
	case !slices.Equal(previous.Categories, required.Categories):
		i.refreshTags.Notify()
	}
}

// EndPause ends the current pause between polls.
func (i *Inbox) EndPause() { i.endPause.Notify() }

// CatchUp waits until a snapshot contains every change reported so far.
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

// Probe requests a proof that the vCenter answers.
func (i *Inbox) Probe() { i.probe.Notify() }

// ReadTags requests a read of tags, and of their names unless they are recent.
func (i *Inbox) ReadTags() { i.readNames.Notify() }

// An Interest is an immutable set of Nodes whose VMs are read in detail.
type Interest struct {
	uuids map[inventory.UUID]bool
	// names contains the Nodes without a UUID, by lower-case name.
	names map[string]string
	// annotated are VMs' last locations in annotations. A kubelet can write these, so they decide nothing
	// about other Nodes' VMs.
	annotated []inventory.LastSeen
	// joining contains the UUIDs of uninitialized Nodes by Identity.VMKey.
	joining    map[string][]inventory.UUID
	lastJoined time.Time
}

// joinTime limits how long polling does not pause because the VM of a joining Node is missing.
const joinTime = 15 * time.Second

func (i *Interest) isJoining(m *model.Model, byName map[string][]inventory.NameEntry) bool {
	if time.Since(i.lastJoined) > joinTime {
		return false
	}
	for key, uuids := range i.joining {
		isShown := slices.ContainsFunc(uuids, func(u inventory.UUID) bool { return len(m.Entries(u)) > 0 })
		if !isShown && len(byName[key]) == 0 {
			return true
		}
	}
	return false
}

func (i *Interest) annotatedIn(entry, instance string) map[string]bool {
	ids := map[string]bool{}
	for _, home := range i.annotated {
		if home.IsIn(entry, instance) {
			ids[home.ID] = true
		}
	}
	return ids
}

// NewInterest returns the interest in these Nodes. previous tells which joined before; it may be nil.
func NewInterest(ids []inventory.Identity, previous *Interest) *Interest {
	i := &Interest{uuids: map[inventory.UUID]bool{}, names: map[string]string{}, joining: map[string][]inventory.UUID{}}
	if previous != nil {
		i.lastJoined = previous.lastJoined
	}
	for _, id := range ids {
		if id.IsJoining {
			key := id.VMKey()
			i.joining[key] = id.UUIDs
			if previous == nil || !previous.isJoined(key) {
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

func (i *Interest) isJoined(key string) bool {
	_, ok := i.joining[key]
	return ok
}
