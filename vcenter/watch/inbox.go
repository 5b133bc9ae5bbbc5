package watch

import (
	"slices"
	"sync/atomic"

	"vzones/topology"
	"vzones/topology/signal"
)

// TagRequirements are the tags that are read.
type TagRequirements struct {
	// Categories are the tag categories that are needed. Snapshots show which of them the
	// vCenter does not have.
	Categories []string
	// Paths are the paths whose objects' tags are read; all if empty.
	Paths []topology.PathKind
}

// An Inbox has the requests to the watches of one vCenter, one after the other. Any
// goroutine may write to it at any time; the watch that runs reads it.
type Inbox struct {
	interest atomic.Pointer[Interest]
	tags     atomic.Pointer[TagRequirements]

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
func NewInbox(tags TagRequirements) *Inbox {
	i := &Inbox{
		interestChanged: signal.New(), probe: signal.New(), refreshTags: signal.New(), readNames: signal.New(),
	}
	i.homes.changed = signal.New()
	i.interest.Store(NewInterest(nil))
	i.tags.Store(&tags)
	return i
}

// Follow replaces the interest.
func (i *Inbox) Follow(now *Interest) {
	i.interest.Store(now)
	i.interestChanged.Notify()
}

// SetTagRequirements replaces which tags are read. The watch that runs follows the change
// if it goes on.
func (i *Inbox) SetTagRequirements(now TagRequirements, goesOn bool) {
	before := i.tags.Swap(&now)
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
