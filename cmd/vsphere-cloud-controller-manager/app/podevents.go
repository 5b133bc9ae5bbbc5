package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"vzones/internal/quote"
	"vzones/provider/report"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// A podRecorder records Events on the daemon's own Pod. The zero value records none.
type podRecorder struct {
	pod      *v1.ObjectReference
	recorder report.Recorder
}

// newPodRecorder returns the recorder for the Pod that the downward API names in the environment, and a
// function that stops it.
func newPodRecorder(ctx context.Context, client kubernetes.Interface) (*podRecorder, func()) {
	name := os.Getenv("POD_NAME")
	namespace := os.Getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return &podRecorder{}, func() {}
	}
	recorder, end := report.NewRecorder(ctx, client, namespace)
	pod := &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(os.Getenv("POD_UID"))}
	return &podRecorder{pod: pod, recorder: recorder}, end
}

func (r *podRecorder) record(eventType, reason, message string) {
	if r.pod != nil {
		r.recorder.Event(r.pod, eventType, reason, message)
	}
}

const (
	// reasonVCenterUnreachable and the next four are also reasons of Events on Nodes.
	reasonVCenterUnreachable   = "VCenterUnreachable"
	reasonCertificateUntrusted = "CertificateUntrusted"
	reasonCredentialsRejected  = "CredentialsRejected"
	reasonCredentialsMissing   = "CredentialsMissing"
	reasonInstanceShared       = "VCenterInstanceShared"

	reasonDatacenterNotFound = "DatacenterNotFound"
	// reasonVCenterRecovered is the reason of Events with the text `vCenter "NAME" has recovered from REASON after DURATION`.
	reasonVCenterRecovered = "VCenterRecovered"
)

var problemReasons = []string{reasonVCenterUnreachable, reasonCertificateUntrusted, reasonCredentialsRejected, reasonCredentialsMissing, reasonDatacenterNotFound, reasonInstanceShared}

const (
	healthPeriod = 5 * time.Second
	// problemDelay exceeds the time in which a vCenter restarts a service.
	problemDelay = 30 * time.Second
)

const outageEffect = "its Nodes stay unchanged, and no Node of any vCenter is deleted meanwhile"

// vcenterEvents records each lasting problem of a vCenter, about once an hour, and its end. Only one
// goroutine uses it.
type vcenterEvents struct {
	health func() []vcenter.Health
	record func(eventType, reason, message string)

	trackers map[problemKey]*report.Tracker
	// addresses are from the previous check. A vCenter's entry with a new address may be another vCenter, so
	// its problems start anew.
	addresses map[string]string
}

type problemKey struct{ vcenter, reason string }

func (e *vcenterEvents) run(ctx context.Context) error {
	tick := time.NewTicker(healthPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.observe(e.health(), time.Now())
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *vcenterEvents) observe(vcenters []vcenter.Health, now time.Time) {
	states := make([]inventory.State, len(vcenters))
	for i := range vcenters {
		states[i] = vcenters[i].State
	}
	trackers := map[problemKey]*report.Tracker{}
	addresses := map[string]string{}
	for i := range vcenters {
		h := &vcenters[i]
		addresses[h.VCenter] = h.Address
		problems := problemsOf(h)
		if err := inventory.CheckInstance(states, h.VCenter); err != nil {
			problems[reasonInstanceShared] = report.Problem{Key: reasonInstanceShared, Reason: reasonInstanceShared, Text: quote.NoteWith(err.Error(), "")}
		}
		for _, reason := range problemReasons {
			key := problemKey{h.VCenter, reason}
			var tracker *report.Tracker
			if e.addresses[h.VCenter] == h.Address {
				tracker = e.trackers[key]
			}
			if problem, isCurrent := problems[reason]; isCurrent {
				if tracker == nil {
					tracker = &report.Tracker{}
				}
				e.observeProblem(key, tracker, problem, now)
				trackers[key] = tracker
				continue
			}
			if tracker == nil {
				continue
			}
			// While a vCenter is not read, its problems do not end.
			if h.Err != nil || h.Snapshot == nil {
				trackers[key] = tracker
				continue
			}
			e.recordEnd(key, tracker, now)
		}
	}
	e.trackers = trackers
	e.addresses = addresses
}

func (e *vcenterEvents) observeProblem(key problemKey, tracker *report.Tracker, problem report.Problem, now time.Time) {
	repeat := report.RepeatInterval(key.vcenter + " " + key.reason)
	if due := tracker.Observe(problem, problemDelay, repeat, now); due.After(now) {
		return
	}
	tracker.Recorded(problem, now)
	e.record(v1.EventTypeWarning, problem.Reason, problem.Text)
}

func (e *vcenterEvents) recordEnd(key problemKey, tracker *report.Tracker, now time.Time) {
	began := tracker.Since()
	if tracker.End() {
		e.record(v1.EventTypeNormal, reasonVCenterRecovered, fmt.Sprintf("vCenter %q has recovered from %s after %s",
			key.vcenter, key.reason, now.Sub(began).Round(time.Second)))
	}
}

func problemsOf(h *vcenter.Health) map[string]report.Problem {
	problems := map[string]report.Problem{}
	add := func(reason, cause, text string) {
		problems[reason] = report.Problem{Key: reason, Cause: cause, Reason: reason, Text: text}
	}
	switch {
	case h.Err != nil && h.Cause == inventory.CauseCredentials:
		add(reasonCredentialsMissing, "login", quote.NoteWith(h.Err.Error(), outageEffect+": restore the credentials"))
	case h.Err != nil && h.Cause == inventory.CauseRejected:
		add(reasonCredentialsRejected, "login", quote.NoteWith(h.Err.Error(), outageEffect+": correct the credentials"))
	case h.Err != nil && h.Cause == inventory.CauseUntrusted:
		add(reasonCertificateUntrusted, "", quote.NoteWith(h.Err.Error(), outageEffect))
	case h.Err != nil:
		add(reasonVCenterUnreachable, faults.CauseOf(h.Err).Error(), quote.NoteWith(h.Err.Error(), strings.TrimSuffix(outageEffect+": "+h.Cause.Advice(), ": ")))
	case h.Rejected && h.Tags == vcenter.TagsFailed:
		add(reasonCredentialsRejected, "tags", fmt.Sprintf("vCenter %q: the tagging API rejects the credentials; new Nodes that need tags stay uninitialized, and initialized Nodes keep "+
			"their labels: correct the credentials", h.VCenter))
	case h.Rejected:
		add(reasonCredentialsRejected, "session", fmt.Sprintf("vCenter %q rejects the configured credentials; vzones still reads it in the open session, "+
			"until that ends or the daemon restarts: correct the credentials", h.VCenter))
	}
	if h.Err == nil && h.CredentialsErr != nil {
		add(reasonCredentialsMissing, "session", fmt.Sprintf("%v; vzones still reads it in the open session, until that ends or the daemon restarts: restore the credentials", h.CredentialsErr))
	}
	if s := h.Snapshot; s != nil && s.Incomplete != nil {
		visible := "no datacenter"
		if len(s.VisibleDatacenters) > 0 {
			visible = quote.Some(s.VisibleDatacenters, 8)
		}
		add(reasonDatacenterNotFound, s.Incomplete.Error(), fmt.Sprintf("%v; the account sees %s; until it is found, no Node of any vCenter is deleted", s.Incomplete, visible))
	}
	return problems
}
