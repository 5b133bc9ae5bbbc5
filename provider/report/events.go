package report

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"vzones/topology/quote"
)

const (
	// source is the component that Events name.
	source = "vzones"
	// mostCorrelated is of how many Events the recorder knows that it has recorded them, so that
	// another one of the same text is counted in the same object. It is more than the Nodes of
	// a cluster.
	mostCorrelated = 16384
)

// Record returns what records Events about objects of a namespace, "" for those of none,
// and what ends it. It outlives the context, whose end those who write Events see first:
// otherwise the last of them would be complained about.
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
