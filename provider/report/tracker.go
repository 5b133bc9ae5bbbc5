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

// ReasonResolved is the reason of the Event at the end of a problem.
const ReasonResolved = "ProblemResolved"

const (
	// repeatMin and repeatMax are below the hour after which API servers forget an Event, by default.
	repeatMin = 50 * time.Minute
	repeatMax = 55 * time.Minute
	// otherCauseInterval is the minimum interval of Events about different causes, which may alternate.
	otherCauseInterval = 5 * time.Minute
)

// A Problem is reported in Events, or in a Node's condition.
type Problem struct {
	// Key identifies the problem. An Event about a new Cause of the same Key is due after otherCauseInterval at the
	// earliest.
	Key, Cause string
	// Detail is for the log. It is empty if it equals Text.
	Reason, Text, Detail string
	// Unknown sets the condition's status to Unknown.
	Unknown bool
	// Silent suppresses the Event, not the condition.
	Silent bool
}

// A Tracker decides when Events about one object are due: when a problem has lasted for some time, when it
// changes, about every hour, and at its end. It is not safe for concurrent use.
type Tracker struct {
	current Problem
	since   time.Time
	// last is the last recorded problem, at lastAt.
	last   Problem
	lastAt time.Time
}

// Observe records a problem and returns when an Event is due. The caller then emits the Event, unless the problem is
// silent, and calls Recorded.
func (t *Tracker) Observe(p Problem, delay, repeat time.Duration, now time.Time) time.Time {
	if t.since.IsZero() || p.Key != t.current.Key {
		t.since = now
	}
	t.current = p
	due := t.since.Add(delay)
	switch {
	case t.lastAt.IsZero() || p.Key != t.last.Key:
		return due
	case p.Cause == t.last.Cause:
		return t.lastAt.Add(repeat)
	case due.Before(t.lastAt.Add(otherCauseInterval)):
		return t.lastAt.Add(otherCauseInterval)
	default:
		return due
	}
}

// Recorded records the problem of an Event.
func (t *Tracker) Recorded(p Problem, now time.Time) { t.last, t.lastAt = p, now }

// Since returns the start of the current problem, or zero.
func (t *Tracker) Since() time.Time { return t.since }

// LastRecorded returns the problem of the last Event and whether it is still current.
func (t *Tracker) LastRecorded() (p Problem, current bool) {
	return t.last, !t.lastAt.IsZero() && !t.since.IsZero() && t.last.Key == t.current.Key && t.last.Cause == t.current.Cause
}

// End records that there is no problem. If it returns true, the caller emits an Event about the end of the
// last reported problem, and then discards the tracker.
func (t *Tracker) End() bool {
	t.current = Problem{}
	t.since = time.Time{}
	return !t.lastAt.IsZero()
}

// RepeatInterval returns the interval of Events about a lasting problem. It varies to spread the Events.
func RepeatInterval(about string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(about))
	return repeatMin + time.Duration(h.Sum64()%uint64(repeatMax-repeatMin))
}

const (
	// Source is the component of the daemon's Events, except about its Lease.
	Source = "vzones"
	// correlatorCacheSize exceeds the number of Nodes of a cluster.
	correlatorCacheSize = 16384
)

// NewRecorder returns a recorder and a function that stops it. The Events are written in the namespace, which is "" for
// cluster-scoped objects. The recorder ignores the end of the context, so that Events during the shutdown can still be
// sent.
func NewRecorder(ctx context.Context, client kubernetes.Interface, namespace string) (Recorder, func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)),
		record.WithCorrelatorOptions(record.CorrelatorOptions{LRUCacheSize: correlatorCacheSize}))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	return Recorder{broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: Source})}, broadcaster.Shutdown
}

// A Recorder records Events with one-line messages of at most quote.LongestNote bytes: client-go logs and
// drops an Event that etcd rejects as too large.
type Recorder struct{ to record.EventRecorder }

// Event records an Event of a type (Normal or Warning) without blocking.
func (r Recorder) Event(object runtime.Object, eventType, reason, message string) {
	r.to.Event(object, eventType, reason, quote.Note(message))
}
