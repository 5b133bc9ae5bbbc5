package nodes

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
)

// syncNode decides about a Node, and returns the time after which to sync it again, 0 for only after a change.
func (c *Controller) syncNode(ctx context.Context, i item) time.Duration {
	n, err := c.nodes.Lister().Get(i.name)
	if err != nil || n.UID != i.uid {
		// The Node was deleted or is not ours.
		c.store.forget(i.uid)
		return 0
	}
	c.store.Lock()
	r := c.store.record(n)
	c.store.Unlock()
	r.eventWaits = false
	var next time.Duration
	if nodeinfo.IsUninitialized(n) {
		next = c.syncJoining(ctx, n, r)
	} else {
		next = c.syncRunning(ctx, n, r)
	}
	next = sooner(next, c.syncDeletion(ctx, n, r))
	outcome := report.OutcomeOf(n, r.decision)
	c.store.Lock()
	r.counted.outcome = outcome
	r.phase = phaseOf(n, r)
	c.store.Unlock()
	if !r.eventWaits {
		c.limiters.events.release(r)
	}
	if next > resyncEvery {
		return 0
	}
	return next
}

// syncJoining announces a Node that can be initialized, and otherwise reports the reason in an Event.
func (c *Controller) syncJoining(ctx context.Context, n *v1.Node, r *record) time.Duration {
	r.labels = labelState{}
	r.addresses = nil
	c.store.Lock()
	r.counted.drifting = false
	r.counted.resized = false
	r.counted.conflicts = nil
	c.store.Unlock()
	maps.DeleteFunc(r.problems, func(about string, _ *report.Tracker) bool { return about != aboutMachine && about != aboutDeletion })
	d, err := c.placer.Join(n)
	c.store.Lock()
	if r.answers.Refused { // Read this after Join, so that no refusal based on older facts is missed.
		r.answers.Refused = false
		r.metadata = nil
	}
	c.store.Unlock()
	c.decided(n, r, d, err)
	if err == nil {
		if !reflect.DeepEqual(r.metadata, d.Metadata) || time.Since(r.announcedAt) >= announceAgain {
			r.metadata = d.Metadata
			r.announcedAt = time.Now()
			c.nodes.Announce(n)
		}
		return c.events.tell(ctx, n, r, verdict{about: aboutMachine, state: over})
	}
	r.metadata = nil
	if errors.Is(err, placement.ErrQuiet) {
		for _, of := range c.fleet.States() {
			if of.Err == nil {
				c.fleet.Probe(of.VCenter)
			}
		}
	}
	next := c.events.tell(ctx, n, r, withoutMachine(n, err, waitingBeforeEvent))
	if c.labels.Load() != nil {
		next = sooner(next, c.writer.writeCondition(ctx, n, r, r.readiness(aboutMachine)))
	}
	return next
}

// announceAgain is the time after which an uninitialized Node is announced again with the same metadata. The framework may
// have dropped the announcement, or may retry a failed write only after 15 minutes.
const announceAgain = resyncEvery / 2

func (c *Controller) syncRunning(ctx context.Context, n *v1.Node, r *record) time.Duration {
	r.metadata = nil
	d := c.placer.Decide(n)
	c.decided(n, r, d, d.MachineErr)
	next := c.writer.annotate(ctx, n, r)
	l := c.labels.Load()
	var by *plan.Policy
	var todo *plan.Plan
	if l != nil {
		by, todo = c.planLabels(l, n, r)
		if !todo.Due.IsZero() {
			next = sooner(next, max(time.Until(todo.Due), time.Millisecond))
		}
	}
	found := problemsOf(n, d, by, todo, time.Now())
	next = sooner(next, c.events.tell(ctx, n, r, found...))
	if !mayBeAnothers(n, d) {
		c.store.Lock()
		isNew := time.Since(r.initialized) < firstAddresses
		c.store.Unlock()
		c.events.addressChange(n, r, isNew)
	}
	if l == nil {
		return next
	}
	if d.Machine != nil {
		next = sooner(next, c.events.conflicts(ctx, n, r))
	}
	next = sooner(next, c.writeLabels(ctx, l, n, r, todo))
	if report.NeverOurs(n, d) && report.ConditionOf(n).Status != "" {
		return sooner(next, c.writer.removeCondition(ctx, n, r))
	}
	return sooner(next, c.writer.writeCondition(ctx, n, r, r.readinessOf(n, todo, found)))
}

// decided stores a decision. If the Node begins to share its VM or address, the other Nodes are enqueued.
func (c *Controller) decided(n *v1.Node, r *record, d *placement.Decision, err error) {
	shared := d.Shared || errors.Is(err, addresses.ErrClaimed)
	if shared && !r.shared {
		c.queue.AddAfter(item{job: observeNodes}, max(gather, c.passes.pause()))
	}
	r.decision = d
	r.machine = d.Machine
	r.shared = shared
	if err != nil {
		r.machine = nil // This requeues the Node after every change.
	}
	c.store.Lock()
	r.node = n
	c.store.Unlock()
}

// syncDeletion starts to confirm the absence of a VM before the framework asks, and records why the Node is not deleted.
func (c *Controller) syncDeletion(ctx context.Context, n *v1.Node, r *record) time.Duration {
	absent, err := c.checker.CheckAhead(n)
	kept := placement.KeptBy(err)
	c.store.Lock()
	r.absent = absent
	r.counted.kept = kept
	c.store.Unlock()
	return c.events.tell(ctx, n, r, deletionOf(absent, err))
}
