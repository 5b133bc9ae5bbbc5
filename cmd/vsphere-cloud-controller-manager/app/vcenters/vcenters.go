// Package vcenters records on the daemon's Pod what is wrong with a vCenter: when it has lasted for
// a while, again each hour while it lasts, and when it is over. It decides nothing about Nodes and
// contacts no vCenter.
package vcenters

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/events"
	"vzones/topology/quote"
	"vzones/vcenter"
	"vzones/vcenter/faults"
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
)

// reasons are those of what can be wrong.
var reasons = []string{reasonUnreadable, reasonRejected, reasonMissing, reasonDatacenters}

const (
	// every is the time between two looks at the vCenters.
	every = 5 * time.Second
	// lasting is how long something has to be wrong before an Event says so: a vCenter that
	// restarts a service is back sooner.
	lasting = 30 * time.Second
	// otherCause is the least time between two Events about causes that take turns.
	otherCause = 5 * time.Minute
)

// A Recorder records what is wrong with the vCenters. One goroutine runs it.
type Recorder struct {
	// Health returns the health of each vCenter.
	Health func() []vcenter.Health
	// Record records an Event of a type on the daemon's Pod.
	Record func(eventType, reason, message string)

	conditions map[key]*condition
	// addresses are those of the vCenters.
	addresses map[string]string
}

// kept is what an outage means for Nodes.
const kept = "its Nodes keep what they have, and no Node of any vCenter is deleted meanwhile"

// mostVisible is how many datacenters an Event names.
const mostVisible = 8

type key struct{ vcenter, reason string }

// A condition is something that is wrong with a vCenter, since when, and when an Event last said
// so, zero if none has.
type condition struct {
	since, recorded time.Time
	// cause is that of the last Event.
	cause string
}

// A problem is what an Event says. What fails is worded in many ways: problems of one cause are
// the same.
type problem struct{ text, cause string }

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
	conditions, addresses := map[key]*condition{}, map[string]string{}
	for i := range all {
		h := &all[i]
		addresses[h.VCenter] = h.Address
		if r.addresses[h.VCenter] != h.Address {
			r.forget(h.VCenter) // it may be another one
		}
		wrong := problems(h)
		for _, reason := range reasons {
			k := key{h.VCenter, reason}
			c := r.conditions[k]
			if p, ok := wrong[reason]; ok {
				if c == nil {
					c = &condition{since: now}
				}
				r.record(k, c, p, now)
			}
			switch _, still := wrong[reason]; {
			case c == nil:
			case still, h.Err != nil, h.Snapshot == nil:
				conditions[k] = c // while a vCenter is not read nothing is over
			case !c.recorded.IsZero():
				r.Record(v1.EventTypeNormal, ReasonRecovered, fmt.Sprintf("vCenter %q has recovered from %s after %s",
					k.vcenter, k.reason, now.Sub(c.since).Round(time.Second)))
			}
		}
	}
	r.conditions, r.addresses = conditions, addresses
}

func (r *Recorder) forget(vcenter string) {
	for _, reason := range reasons {
		delete(r.conditions, key{vcenter, reason})
	}
}

// record records an Event if what is wrong has lasted, and no Event of the last hour says it, or
// it has another cause by now.
func (r *Recorder) record(k key, c *condition, p problem, now time.Time) {
	ago := now.Sub(c.recorded)
	said := !c.recorded.IsZero() && ago < events.RepeatAfter(k.vcenter+" "+k.reason) && (c.cause == p.cause || ago < otherCause)
	if said || now.Sub(c.since) < lasting {
		return
	}
	c.recorded, c.cause = now, p.cause
	r.Record(v1.EventTypeWarning, k.reason, p.text)
}

// restore is what to do about a vCenter that cannot be read, where the error does not say it.
func restore(cause string) string {
	switch cause {
	case vcenter.CauseUntrusted:
		return ""
	case faults.CauseDenied:
		return ": give the account its role on the vCenter"
	case faults.CauseFault:
		return ": look at the vCenter's own logs"
	case vcenter.CauseInternal:
		return ": report the stack in the daemon's log as a bug"
	}
	return ": check that it runs and that the cluster reaches it"
}

// problems returns what is wrong with a vCenter, by the reason of the Event.
func problems(h *vcenter.Health) map[string]problem {
	all := map[string]problem{}
	switch cause := vcenter.CauseOf(h.Err); {
	case h.Err != nil && cause == vcenter.CauseCredentials:
		all[reasonMissing] = problem{quote.NoteWith(h.Err.Error(), kept+": restore the credentials"), "login"}
	case h.Err != nil && cause == faults.CauseRejected:
		all[reasonRejected] = problem{quote.NoteWith(h.Err.Error(), kept+": correct the credentials"), "login"}
	case h.Err != nil:
		all[reasonUnreadable] = problem{quote.NoteWith(h.Err.Error(), kept+restore(cause)), cause}
	case h.Rejected && h.Tags == vcenter.TagsFailed:
		all[reasonRejected] = problem{fmt.Sprintf("vCenter %q: the tagging API rejects the credentials; Nodes that need tags wait, and others keep "+
			"their labels: correct the credentials", h.VCenter), "tags"}
	case h.Rejected:
		all[reasonRejected] = problem{fmt.Sprintf("vCenter %q rejects the credentials that are configured now; vzones still reads it in the open session, "+
			"until that ends or the daemon restarts: correct the credentials", h.VCenter), "session"}
	}
	if h.Err == nil && h.CredentialsErr != nil {
		all[reasonMissing] = problem{fmt.Sprintf("%v; vzones still reads it in the open session, until that ends or the daemon restarts: restore the credentials", h.CredentialsErr), "session"}
	}
	if s := h.Snapshot; s != nil && s.Incomplete != nil {
		visible := "no datacenter"
		if len(s.VisibleDatacenters) > 0 {
			visible = quote.Some(s.VisibleDatacenters, mostVisible)
		}
		all[reasonDatacenters] = problem{fmt.Sprintf("%v; the account sees %s; until it is found, no Node of any vCenter is deleted", s.Incomplete, visible), s.Incomplete.Error()}
	}
	return all
}
