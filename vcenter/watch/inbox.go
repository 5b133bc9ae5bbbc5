package watch

import (
	"slices"
	"sync/atomic"

	"vzones/topology"
	"vzones/vcenter/signal"
)

// TagWants are whose tags are wanted.
type TagWants struct {
	// Categories are the tag categories that somebody needs. Snapshots have which of
	// them the vCenter does not show.
	Categories []string
	// Surveyed are those of the categories whose tags are looked for in the whole vCenter.
	Surveyed []string
	// Paths are the paths whose objects' tags are read; all if empty.
	Paths []topology.PathKind
}

// An Inbox has what is asked of the watches of one vCenter, one after the other. Anybody
// may write to it at any time; the watch that runs reads it.
type Inbox struct {
	interest atomic.Pointer[Interest]
	wants    atomic.Pointer[TagWants]

	// interestChanged is about interest, and about the paths of wants.
	interestChanged signal.Signal
	// probe asks for a proof that the vCenter answers.
	probe signal.Signal
	// refreshTags asks for tags to be read now, readNames for names of tags that are
	// recent.
	refreshTags, readNames signal.Signal
	// statesChanged says that the state of a vCenter of the fleet has changed.
	statesChanged signal.Signal
}

// NewInbox returns an inbox that asks for nothing.
func NewInbox(wants TagWants) *Inbox {
	i := &Inbox{
		interestChanged: signal.New(), probe: signal.New(), refreshTags: signal.New(), readNames: signal.New(), statesChanged: signal.New(),
	}
	i.interest.Store(NewInterest(nil))
	i.wants.Store(&wants)
	return i
}

// Follow replaces the interest.
func (i *Inbox) Follow(now *Interest) {
	i.interest.Store(now)
	i.interestChanged.Notify()
}

// SetTagWants replaces whose tags are wanted. The watch that runs takes that up if it goes on.
func (i *Inbox) SetTagWants(now TagWants, goesOn bool) {
	before := i.wants.Swap(&now)
	switch {
	case !goesOn:
	case !slices.Equal(before.Paths, now.Paths):
		i.interestChanged.Notify() // other objects' tags may be wanted
		i.refreshTags.Notify()
	case !slices.Equal(before.Categories, now.Categories):
		i.refreshTags.Notify()
	}
}

// Probe has the vCenter prove that it answers.
func (i *Inbox) Probe() { i.probe.Notify() }

// ReadTags has tags read soon, with names that are recent.
func (i *Inbox) ReadTags() { i.readNames.Notify() }

// StatesChanged has whoever searches for machines look at the states of the fleet.
func (i *Inbox) StatesChanged() { i.statesChanged.Notify() }
