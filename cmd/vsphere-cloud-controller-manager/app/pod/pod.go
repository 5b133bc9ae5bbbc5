// Package pod records Events on the Pod that the daemon runs in. It never reads the Pod.
package pod

import (
	"context"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"vzones/provider/report"
	"vzones/topology/quote"
)

// A Recorder records Events on the daemon's own Pod. The zero value records none.
type Recorder struct {
	ref      *v1.ObjectReference
	recorder report.Recorder
}

// Reference returns the Pod that the environment names, as the manifest sets it from
// the downward API; nil if it names none.
func Reference(getenv func(string) string) *v1.ObjectReference {
	name, namespace := getenv("POD_NAME"), getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return nil
	}
	return &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(getenv("POD_UID"))}
}

// NewRecorder returns the recorder for the Pod that the environment names, and what ends its
// recording.
func NewRecorder(ctx context.Context, client kubernetes.Interface) (*Recorder, func()) {
	ref := Reference(os.Getenv)
	if ref == nil {
		return &Recorder{}, func() {}
	}
	recorder, end := report.Record(ctx, client, ref.Namespace)
	return &Recorder{ref, recorder}, end
}

// Record records an Event of a type (Normal or Warning).
func (r *Recorder) Record(eventType, reason, message string) {
	if r.ref != nil {
		r.recorder.Event(r.ref, eventType, reason, message)
	}
}

// Abridge puts as many lines into one message as fit into an Event, with semicolons between
// them, and a last one in any case, if it is not empty. The log has the rest.
func Abridge(lines []string, last string) string {
	if last != "" {
		last = "; " + last
	}
	text, more := strings.Join(lines, "; "), ""
	for n := len(lines) - 1; n > 0 && len(text)+len(more)+len(last) > quote.LongestNote; n-- {
		text, more = strings.Join(lines[:n], "; "), fmt.Sprintf("; and %d more, in the log", len(lines)-n)
	}
	if len(text)+len(more)+len(last) > quote.LongestNote {
		return quote.NoteWith(text, fmt.Sprintf("and %d more, in the log%s", len(lines)-1, last))
	}
	return text + more + last
}
