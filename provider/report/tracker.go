package report

import (
	"context"
	"hash/fnv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"vzones/internal/quote"
)

// ReasonResolved is the reason of the Event that says that what another one said is over.
const ReasonResolved = "ProblemResolved"

const (
	// repeatMin and repeatMax bound the time after which an Event is recorded again while it
	// holds. API servers forget an Event an hour after it was written last, by default.
	repeatMin = 50 * time.Minute
	repeatMax = 55 * time.Minute
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

// A Tracker decides when an Event is recorded about one thing: when the thing has been wrong for long
// enough, when the problem changes, again about each hour, and when the problem is over. The zero value
// means that nothing is wrong. A Tracker reads no clock, and one goroutine at a time may use it.
type Tracker struct {
	now   Problem
	since time.Time // zero if nothing is wrong
	// last is the problem of the last Event, and at the time of that Event. Both are zero if there was no
	// Event, or if the last one said that the problem is over.
	last Problem
	at   time.Time
}

// Observe notes a problem, and returns the time at which an Event is due. If that is not after now, the
// caller records the Event and calls Recorded.
func (t *Tracker) Observe(p Problem, after, repeat time.Duration, now time.Time) time.Time {
	if t.since.IsZero() || p.Key != t.now.Key {
		t.since = now
	}
	t.now = p
	due := t.since.Add(after)
	switch {
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

// Recorded notes the problem of an Event. Its text may differ from that of the problem given to Observe.
func (t *Tracker) Recorded(p Problem, now time.Time) { t.last, t.at = p, now }

// Since returns since when something is wrong, zero if nothing is.
func (t *Tracker) Since() time.Time { return t.since }

// Said returns the problem of the last Event, and whether the problem of now is the same.
func (t *Tracker) Said() (p Problem, current bool) {
	return t.last, !t.at.IsZero() && !t.since.IsZero() && t.last.Key == t.now.Key && t.last.Cause == t.now.Cause
}

// End notes that nothing is wrong. It reports whether the last Event was about a problem, so that another
// Event has to record the end; then the caller clears the tracker.
func (t *Tracker) End() bool {
	t.now = Problem{}
	t.since = time.Time{}
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

const (
	// source is the component that Events name.
	source = "vzones"
	// mostCorrelated is of how many Events the recorder knows that it has recorded them, so that
	// another one of the same text is counted in the same object. It is more than the Nodes of
	// a cluster.
	mostCorrelated = 16384
)

// Record returns a recorder of Events about objects of a namespace, "" for objects without one, and a
// function that ends it. The recorder outlives the context: whoever records Events ends with the context
// first, so the last Events are still written.
func Record(ctx context.Context, client kubernetes.Interface, namespace string) (Recorder, func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)),
		record.WithCorrelatorOptions(record.CorrelatorOptions{LRUCacheSize: mostCorrelated}))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	return Recorder{broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: source})}, broadcaster.Shutdown
}

// A Recorder records Events whose messages are on one line and no longer than quote.LongestNote.
// An API server would take longer ones of this API until etcd refuses them, and then client-go
// would log the Event as a whole and drop it.
type Recorder struct{ to record.EventRecorder }

// Event records an Event of a type (Normal or Warning) about an object. It does not wait.
func (r Recorder) Event(object runtime.Object, eventType, reason, message string) {
	r.to.Event(object, eventType, reason, quote.Note(message))
}
