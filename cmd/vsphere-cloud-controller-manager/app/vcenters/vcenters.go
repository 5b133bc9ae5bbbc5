// Package vcenters records on the daemon's Pod what is wrong with a vCenter: when it has lasted for
// a while, again each hour while it lasts, and when it is over. It decides nothing about Nodes and
// contacts no vCenter.
package vcenters

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/topology/quote"
	"vzones/vcenter"
	"vzones/vcenter/session"
)

// The reasons of Events.
const (
	reasonUnreadable  = "VCenterUnreadable"
	reasonRejected    = "CredentialsRejected"
	reasonDatacenters = "DatacenterNotFound"
	reasonOver        = "VCenterRecovered"
)

const (
	// every is the time between two looks at the vCenters.
	every = 5 * time.Second
	// lasting is how long something has to be wrong before an Event says so: a vCenter that
	// restarts a service is back sooner.
	lasting = 30 * time.Second
	// repeated is the time after which an Event is recorded again while it lasts: the API server
	// forgets Events after an hour.
	repeated = 55 * time.Minute
)

// A Recorder records what is wrong with the vCenters. One goroutine runs it.
type Recorder struct {
	// Health returns the health of each vCenter.
	Health func() []vcenter.Health
	// Record records an Event of a type on the daemon's Pod.
	Record func(eventType, reason, message string)

	conditions map[key]*condition
}

// kept says what an outage does to Nodes.
const kept = "its Nodes keep what they have, and no Node of any vCenter is deleted meanwhile"

// mostVisible is how many datacenters an Event names.
const mostVisible = 8

type key struct{ vcenter, reason string }

// A condition is something that is wrong with a vCenter, since when, and when an Event last said
// so, zero if none has.
type condition struct {
	since, recorded time.Time
	// text is that of the last Event.
	text string
}

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
	wrong := map[key]*condition{}
	configured := map[string]bool{}
	for i := range all {
		h := &all[i]
		configured[h.VCenter] = true
		for reason, text := range problems(h) {
			k := key{h.VCenter, reason}
			c := r.conditions[k]
			if c == nil {
				c = &condition{since: now}
			}
			wrong[k] = c
			r.record(k, c, text, now)
		}
	}
	for k, c := range r.conditions {
		// One reason may have become another one.
		goesOn := k.reason != reasonDatacenters && (wrong[key{k.vcenter, reasonUnreadable}] != nil || wrong[key{k.vcenter, reasonRejected}] != nil)
		if wrong[k] == nil && configured[k.vcenter] && !c.recorded.IsZero() && !goesOn {
			r.Record(v1.EventTypeNormal, reasonOver, fmt.Sprintf("vCenter %q: what the Event %s said is over, after %s",
				k.vcenter, k.reason, now.Sub(c.since).Round(time.Second)))
		}
	}
	r.conditions = wrong
}

// record records an Event if what is wrong has lasted, and no Event of the last hour says it. What
// fails is worded in many ways and is one outage.
func (r *Recorder) record(k key, c *condition, text string, now time.Time) {
	said := !c.recorded.IsZero() && now.Sub(c.recorded) < repeated && (c.text == text || k.reason != reasonDatacenters)
	if said || now.Sub(c.since) < lasting {
		return
	}
	c.recorded, c.text = now, text
	r.Record(v1.EventTypeWarning, k.reason, text)
}

// problems returns what is wrong with a vCenter, by the reason of the Event.
func problems(h *vcenter.Health) map[string]string {
	all := map[string]string{}
	switch {
	case errors.Is(h.Err, session.ErrRejected):
		all[reasonRejected] = fmt.Sprintf("%v; %s: correct the credentials", h.Err, kept)
	case h.Err != nil:
		all[reasonUnreadable] = fmt.Sprintf("%v; %s", h.Err, kept)
	case h.Rejected:
		all[reasonRejected] = fmt.Sprintf("vCenter %q rejects the credentials that are configured now; it is read on in the open session, "+
			"until that ends or the daemon restarts: correct the credentials", h.VCenter)
	}
	if s := h.Snapshot; s != nil && s.Incomplete != nil {
		visible := "no datacenter"
		if len(s.VisibleDatacenters) > 0 {
			visible = quote.Some(s.VisibleDatacenters, mostVisible)
		}
		all[reasonDatacenters] = fmt.Sprintf("%v; it sees %s; until it is found, no Node of any vCenter is deleted: "+
			"correct datacenters in the configuration", s.Incomplete, visible)
	}
	return all
}
