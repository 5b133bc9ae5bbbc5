package watch

import "time"

// A phase is how far a watch is. The package comment has the transitions.
type phase int

const (
	loading phase = iota
	syncing
	ready
)

// syncTime bounds the wait for the filter to report the details of followed machines: all of
// them before the first snapshot of a watch, many new ones later. Some may have none.
const syncTime = 5 * time.Second

// progress is the phase of a watch.
type progress struct {
	phase phase
	// began is when the watch began, zero once it is logged what it has read.
	began time.Time
	// late reports whether syncTime is over, so that a snapshot lacks what is not there;
	// due is when it will be, nil if that is not waited for.
	late bool
	due  <-chan time.Time
}

// indexed begins to synchronize: the index has come in whole.
func (p *progress) indexed() { p.phase, p.due = syncing, time.After(syncTime) }

// expired notes that syncTime is over.
func (p *progress) expired() { p.late, p.due = true, nil }

// complete notes that everything is there.
func (p *progress) complete() { p.phase = ready }

// waits reports whether details that are not there are waited for.
func (p *progress) waits() bool { return p.phase == syncing && !p.late }
