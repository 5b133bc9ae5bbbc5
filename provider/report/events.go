package report

import (
	"context"
	"fmt"

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
func Record(ctx context.Context, client kubernetes.Interface, namespace string) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)),
		record.WithCorrelatorOptions(record.CorrelatorOptions{LRUCacheSize: mostCorrelated}))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	return Short{broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: source})}, broadcaster.Shutdown
}

// Short is a recorder whose messages are on one line and no longer than quote.LongestNote.
// An API server would take longer ones of this API until etcd refuses them, and then the
// recorder would log the Event as a whole and drop it.
type Short struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (s Short) Event(object runtime.Object, kind, reason, message string) {
	s.EventRecorder.Event(object, kind, reason, quote.Note(message))
}

// Eventf implements record.EventRecorder.
func (s Short) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	s.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (s Short) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	s.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", quote.Note(fmt.Sprintf(format, args...)))
}
