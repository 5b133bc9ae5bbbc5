// Package pod records Events on the Pod that the daemon runs in. It never reads the Pod.
package pod

import (
	"context"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"vzones/provider/report"
)

// A Recorder records Events on the daemon's own Pod. The zero value records none.
type Recorder struct {
	ref      *v1.ObjectReference
	recorder report.Recorder
}

// NewRecorder returns the recorder for the Pod that the environment names, as the manifest sets it from
// the downward API, and what ends its recording. Without a name it records nothing.
func NewRecorder(ctx context.Context, client kubernetes.Interface) (*Recorder, func()) {
	name, namespace := os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return &Recorder{}, func() {}
	}
	recorder, end := report.Record(ctx, client, namespace)
	return &Recorder{&v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(os.Getenv("POD_UID"))}, recorder}, end
}

// Record records an Event of a type (Normal or Warning).
func (r *Recorder) Record(eventType, reason, message string) {
	if r.ref != nil {
		r.recorder.Event(r.ref, eventType, reason, message)
	}
}
