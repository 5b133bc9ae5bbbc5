// Package vcenters records on the daemon's Pod what is wrong with a vCenter: when it has lasted for
// a while, again each hour while it lasts, and when it is over. It decides nothing about Nodes and
// contacts no vCenter.
package vcenters

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/internal/quote"
	"vzones/provider/report"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// ReasonRecovered is the reason of the Event that says that what one of the others said is over. Its
// text is of the form `vCenter "NAME" has recovered from REASON after DURATION`.
const ReasonRecovered = "VCenterRecovered"

// The reasons of the other Events.
const (
	reasonUnreadable  = "VCenterUnreadable"
	reasonRejected    = "CredentialsRejected"
	reasonMissing     = "CredentialsMissing"
	reasonDatacenters = "DatacenterNotFound"
	reasonInstance    = "VCenterInstanceShared"
)

// reasons are those of what can be wrong.
var reasons = []string{reasonUnreadable, reasonRejected, reasonMissing, reasonDatacenters, reasonInstance}

const (
	// every is the time between two looks at the vCenters.
	every = 5 * time.Second
	// lasting is how long something has to be wrong before an Event says so: a vCenter that
	// restarts a service is back sooner.
	lasting = 30 * time.Second
)

// A Recorder records what is wrong with the vCenters. One goroutine runs it.
type Recorder struct {
	// Health returns the health of each vCenter.
	Health func() []vcenter.Health
	// Record records an Event of a type on the daemon's Pod.
	Record func(eventType, reason, message string)

	problems map[key]*report.Tracker
	// addresses are those of the vCenters.
	addresses map[string]string
}

// kept is what an outage means for Nodes.
const kept = "its Nodes keep what they have, and no Node of any vCenter is deleted meanwhile"

type key struct{ vcenter, reason string }

// Run records Events until the context is done.
func (r *Recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.observe(r.Health(), time.Now())
		case <-ctx.Done():
			return nil
		}
	}
}

// observe records what is wrong now, and what is not any more.
func (r *Recorder) observe(all []vcenter.Health, now time.Time) {
	still, addresses := map[key]*report.Tracker{}, map[string]string{}
	states := make([]inventory.State, len(all))
	for i := range all {
		states[i] = all[i].State
	}
	for i := range all {
		h := &all[i]
		addresses[h.VCenter] = h.Address
		same := r.addresses[h.VCenter] == h.Address // or it may be another vCenter
		wrong := problems(h)
		if err := inventory.CheckInstance(states, h.VCenter); err != nil {
			wrong[reasonInstance] = report.Problem{Key: reasonInstance, Reason: reasonInstance, Text: quote.NoteWith(err.Error(), "")}
		}
		for _, reason := range reasons {
			k := key{h.VCenter, reason}
			t := r.problems[k]
			if !same {
				t = nil
			}
			p, is := wrong[reason]
			switch {
			case is:
				if t == nil {
					t = &report.Tracker{}
				}
				still[k] = t
				if due := t.Observe(p, lasting, report.RepeatAfter(k.vcenter+" "+k.reason), now); !due.After(now) {
					t.Recorded(p, now)
					r.Record(v1.EventTypeWarning, p.Reason, p.Text)
				}
			case t == nil:
			case h.Err != nil, h.Snapshot == nil:
				still[k] = t // while a vCenter is not read nothing is over
			default:
				if since := t.Since(); t.End() {
					r.Record(v1.EventTypeNormal, ReasonRecovered, fmt.Sprintf("vCenter %q has recovered from %s after %s",
						k.vcenter, k.reason, now.Sub(since).Round(time.Second)))
				}
			}
		}
	}
	r.problems, r.addresses = still, addresses
}

// problems returns what is wrong with a vCenter, by the reason of the Event.
func problems(h *vcenter.Health) map[string]report.Problem {
	all := map[string]report.Problem{}
	wrong := func(reason, cause, text string) {
		all[reason] = report.Problem{Key: reason, Cause: cause, Reason: reason, Text: text}
	}
	switch {
	case h.Err != nil && h.Cause == inventory.CauseCredentials:
		wrong(reasonMissing, "login", quote.NoteWith(h.Err.Error(), kept+": restore the credentials"))
	case h.Err != nil && h.Cause == inventory.CauseRejected:
		wrong(reasonRejected, "login", quote.NoteWith(h.Err.Error(), kept+": correct the credentials"))
	case h.Err != nil:
		wrong(reasonUnreadable, faults.CauseOf(h.Err).Error(), quote.NoteWith(h.Err.Error(), strings.TrimSuffix(kept+": "+h.Cause.Advice(), ": ")))
	case h.Rejected && h.Tags == vcenter.TagsFailed:
		wrong(reasonRejected, "tags", fmt.Sprintf("vCenter %q: the tagging API rejects the credentials; Nodes that need tags wait, and others keep "+
			"their labels: correct the credentials", h.VCenter))
	case h.Rejected:
		wrong(reasonRejected, "session", fmt.Sprintf("vCenter %q rejects the credentials that are configured now; vzones still reads it in the open session, "+
			"until that ends or the daemon restarts: correct the credentials", h.VCenter))
	}
	if h.Err == nil && h.CredentialsErr != nil {
		wrong(reasonMissing, "session", fmt.Sprintf("%v; vzones still reads it in the open session, until that ends or the daemon restarts: restore the credentials", h.CredentialsErr))
	}
	if s := h.Snapshot; s != nil && s.Incomplete != nil {
		visible := "no datacenter"
		if len(s.VisibleDatacenters) > 0 {
			visible = quote.Some(s.VisibleDatacenters, 8)
		}
		wrong(reasonDatacenters, s.Incomplete.Error(), fmt.Sprintf("%v; the account sees %s; until it is found, no Node of any vCenter is deleted", s.Incomplete, visible))
	}
	return all
}
