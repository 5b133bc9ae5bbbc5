package report

import (
	"hash/fnv"
	"time"
)

// ReasonResolved is the reason of the Event that says that what another one said is over.
const ReasonResolved = "ProblemResolved"

const (
	// repeatMin and repeatMax bound the time after which an Event is recorded again while it
	// holds. API servers forget an Event an hour after it was written last, by default.
	repeatMin, repeatMax = 50 * time.Minute, 55 * time.Minute
	// otherCause is how long after an Event another cause of its problem is recorded: causes may
	// take turns.
	otherCause = 5 * time.Minute
)

// A Problem is something that is wrong with a Node or a vCenter.
type Problem struct {
	// Key is the same for problems that say the same to a person, whatever the words, and Cause
	// tells apart what may take turns.
	Key, Cause string
	// Reason and Text are those of the Event. Detail is for the log, empty if that is Text.
	Reason, Text, Detail string
	// Unknown reports whether the problem is that something cannot be read.
	Unknown bool
}

// same reports whether an Event about the one says the other too.
func (p *Problem) same(as *Problem) bool { return p.Key == as.Key && p.Cause == as.Cause }

// A Tracker decides when an Event says that one thing is wrong: when it has been so for long enough,
// when the problem becomes another one, again about each hour, and when it is over. The zero value
// is that nothing is wrong. It reads no clock, and one goroutine at a time may use it.
type Tracker struct {
	now   Problem
	since time.Time // zero if nothing is wrong
	// last is what the last Event has said, and at when, zero if there was none or one has said that it
	// is over.
	last Problem
	at   time.Time
}

// Observe notes that a problem is there, and returns when an Event has to say so. That is at once if
// the time is not after now; then Recorded is to be called with the Event.
func (t *Tracker) Observe(p Problem, after, repeat time.Duration, now time.Time) time.Time {
	if t.since.IsZero() || p.Key != t.now.Key {
		t.since = now
	}
	t.now = p
	switch due := t.since.Add(after); {
	case t.at.IsZero() || p.Key != t.last.Key:
		return due
	case p.Cause == t.last.Cause:
		return t.at.Add(repeat)
	case due.Before(t.at.Add(otherCause)):
		return t.at.Add(otherCause)
	default:
		return due
	}
}

// Recorded notes that an Event says what is wrong. Its text may be another one than Observe was told.
func (t *Tracker) Recorded(p Problem, now time.Time) { t.last, t.at = p, now }

// Since returns since when something is wrong, zero if nothing is.
func (t *Tracker) Since() time.Time { return t.since }

// Said returns what the last Event has said, and whether it says what is wrong now.
func (t *Tracker) Said() (p Problem, current bool) {
	return t.last, !t.at.IsZero() && !t.since.IsZero() && t.last.same(&t.now)
}

// End notes that nothing is wrong. It reports whether an Event has to say so, because the last one says
// that something is; then the tracker is to be cleared with it.
func (t *Tracker) End() bool {
	t.now, t.since = Problem{}, time.Time{}
	return !t.at.IsZero()
}

// RepeatAfter returns the time after which an Event about something is recorded again while it
// holds: 50 to 55 minutes, always the same for the same thing, so that Events about thousands of
// Nodes are not written all at once.
func RepeatAfter(about string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(about)) // a hash takes everything
	return repeatMin + time.Duration(h.Sum64()%uint64(repeatMax-repeatMin))
}
