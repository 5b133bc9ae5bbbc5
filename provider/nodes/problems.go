package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/provider/absence"
	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/topology/quote"
)

// The subjects of a Node's problems.
const (
	aboutMachine  = "machine"  // what the Node waits for, or why its machine is not certain
	aboutDeletion = "deletion" // why the Node is not deleted although its machine is not found
	aboutPlace    = "place"    // why a machine has no placement
	aboutDrift    = "drift"
	aboutType     = "type"
	aboutConflict = "conflict " // and its key
	aboutLabel    = "label"     // a label is not known that the Node can do without, or has: only the condition says so
	aboutOwner    = "owner"     // it is not known whether the Node is ours: likewise
)

const (
	// waitingBeforeEvent is how long a Node waits before an Event says for what. Every
	// Node waits for a moment.
	waitingBeforeEvent = 10 * time.Second
	// runningBeforeEvent is how long something is wrong with an initialized Node before an Event
	// says so: nothing waits for it, and a vCenter that is back soon concerns nobody.
	runningBeforeEvent = 30 * time.Second
	// eventsPerSecond bounds the Events about many Nodes at once. What records them drops those
	// that come faster than the API server takes them.
	eventsPerSecond = 20
)

// problem returns the tracker of a problem of a Node.
func (r *record) problem(about string) *report.Tracker {
	t := r.problems[about]
	if t == nil {
		if r.problems == nil {
			r.problems = map[string]*report.Tracker{}
		}
		t = &report.Tracker{}
		r.problems[about] = t
	}
	return t
}

// isWrong has an Event say that something is wrong with a Node, once that has lasted for the time
// after. It returns when it has to be called again.
func (c *Controller) isWrong(ctx context.Context, n *v1.Node, r *record, about string, p report.Problem, after time.Duration) time.Duration {
	t, now := r.problem(about), time.Now()
	if due := t.Observe(p, after, report.RepeatAfter(string(n.UID)), now); due.After(now) {
		return due.Sub(now)
	}
	if wait := c.eventWait(r); wait > 0 {
		return wait
	}
	_, again := t.Said()
	t.Recorded(p, now)
	c.events.Event(n, v1.EventTypeWarning, p.Reason, p.Text)
	if !again {
		r.log(ctx).Info("Node needs attention", "node", klog.KObj(n), "reason", p.Reason, "text", quote.Line(cmp.Or(p.Detail, p.Text)))
	}
	return 0
}

// eventWait returns how long an Event about a Node has to wait for its turn, 0 if it has come.
func (c *Controller) eventWait(r *record) time.Duration {
	wait := r.event.wait(c.eventPace)
	if r.eventWaits = wait > 0; !r.eventWaits {
		r.event.done()
	}
	return wait
}

// machineIsWrong is isWrong for what an error says of a Node's machine. Before an Event says that no
// vCenter has it, it is searched for outside of the configured datacenters.
func (c *Controller) machineIsWrong(ctx context.Context, n *v1.Node, r *record, err error, after time.Duration) time.Duration {
	p, now := report.ProblemOf(err), time.Now()
	if id, unidentified := nodeinfo.IdentityOf(n); errors.Is(err, topology.ErrAbsent) && unidentified == nil && len(id.UUIDs) > 0 {
		if due := r.problem(aboutMachine).Observe(p, after, report.RepeatAfter(string(n.UID)), now); due.After(now) {
			return due.Sub(now)
		}
		switch there := c.checker.Outside(n.UID, id); {
		case errors.Is(there, absence.ErrConfirming):
			return 0 // its end enqueues the Node
		case there != nil:
			key := p.Key
			p = report.ProblemOf(there)
			p.Key, p.Cause = key, ""
		}
	}
	return c.isWrong(ctx, n, r, aboutMachine, p, after)
}

// isOver has an Event say that a problem of a Node is over, if one has said that it is there. It returns
// when it has to be called again.
func (c *Controller) isOver(ctx context.Context, n *v1.Node, r *record, about string) time.Duration {
	t := r.problems[about]
	if t == nil {
		return 0
	}
	if t.End() {
		if wait := c.eventWait(r); wait > 0 {
			return wait
		}
		was, _ := t.Said()
		text := was.Reason + " is over"
		if in := r.decision.VCenter; in != "" {
			text = fmt.Sprintf("vCenter %q: %s", in, text)
		}
		c.events.Event(n, v1.EventTypeNormal, report.ReasonResolved, text)
		klog.FromContext(ctx).V(2).Info("A problem of the Node is over", "node", klog.KObj(n), "text", quote.Line(text))
	}
	delete(r.problems, about)
	return 0
}

// log returns a logger whose lines name the vCenter in which a Node's machine was found last, unless
// it never was.
func (r *record) log(ctx context.Context) klog.Logger {
	log := klog.FromContext(ctx)
	if r.vcenter != "" {
		log = log.WithValues("vCenter", quote.Plain(r.vcenter))
	}
	return log
}

// has reports whether something is wrong with a Node.
func (r *record) has(about string) bool {
	t := r.problems[about]
	return t != nil && !t.Since().IsZero()
}

// readiness returns what the condition says while something is wrong: what the Event has said, zero
// until it has.
func (r *record) readiness(about string) readiness {
	if t := r.problems[about]; t != nil {
		if said, current := t.Said(); current {
			return readinessBy(said)
		}
	}
	return readiness{}
}

// isNotKnown returns what the condition says once something has not been known for a while of which no
// Event says so, and when it will.
func (r *record) isNotKnown(about string, err error) (readiness, time.Duration) {
	t, p, now := r.problem(about), report.ProblemOf(err), time.Now()
	if due := t.Observe(p, runningBeforeEvent, time.Hour, now); due.After(now) {
		return r.readiness(about), due.Sub(now)
	}
	t.Recorded(p, now)
	return readinessBy(p), 0
}
