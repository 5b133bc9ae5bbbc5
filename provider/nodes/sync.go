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

// syncNode syncs a Node and returns the delay until its next sync, or 0 if it waits for a change.
func (c *Controller) syncNode(ctx context.Context, i item) time.Duration {
	n, err := c.nodes.Lister().Get(i.name)
	if err != nil || n.UID != i.uid {
		return c.forget(ctx, i)
	}
	c.store.Lock()
	r := c.store.record(n)
	c.store.Unlock()
	r.isEventPending = false
	var next time.Duration
	if nodeinfo.IsUninitialized(n) {
		next = c.syncJoining(ctx, n, r)
	} else {
		next = c.syncInitialized(ctx, n, r)
	}
	next = sooner(next, c.syncDeletion(ctx, n, r))
	outcome := report.OutcomeName(n, r.decision)
	c.store.Lock()
	r.stats.outcome = outcome
	r.phase = phaseOf(n, r)
	c.store.Unlock()
	if !r.isEventPending {
		c.limiters.events.release(r)
	}
	if next > resyncEvery {
		return 0
	}
	return next
}

// leave forgets a Node that was deleted or is not ours. It first removes the condition that the Node got before another
// cloud controller manager initialized it.
func (c *Controller) leave(ctx context.Context, i item) time.Duration {
	n, err := c.nodes.Get(i.name)
	if err != nil || n.UID != i.uid || !nodeinfo.IsForeign(n.Spec.ProviderID) || report.ConditionOf(n).Status == "" || c.labels.Load() == nil {
		c.store.forget(i.uid)
		return 0
	}
	c.store.Lock()
	r := c.store.record(n)
	if r.decision != nil {
		// The record is of the time when the Node was perhaps ours.
		delete(c.store.records, n.UID)
		r = c.store.record(n)
	}
	c.store.Unlock()
	return c.writer.removeCondition(ctx, n, r)
}

func (c *Controller) syncJoining(ctx context.Context, n *v1.Node, r *nodeRecord) time.Duration {
	r.labels = labelState{}
	r.lastAddresses = nil
	c.store.Lock()
	r.stats.drifting = false
	r.stats.resized = false
	r.stats.conflicts = nil
	c.store.Unlock()
	maps.DeleteFunc(r.problems, func(about string, _ *report.Tracker) bool { return about != aboutVM && about != aboutDeletion })
	d, err := c.placer.Join(n)
	c.store.Lock()
	// Read Rejected after Join: a rejection until then may be based on older data, and needs a new announcement.
	if r.answers.Rejected {
		r.answers.Rejected = false
		r.metadata = nil
	}
	c.store.Unlock()
	c.storeDecision(n, r, d, err)
	if err == nil {
		if !reflect.DeepEqual(r.metadata, d.Metadata) || time.Since(r.announcedAt) >= reannounceDelay {
			r.metadata = d.Metadata
			r.announcedAt = time.Now()
			c.nodes.Announce(n)
		}
		return c.events.emitVerdicts(ctx, n, r, verdict{about: aboutVM, state: resolved})
	}
	r.metadata = nil
	if errors.Is(err, placement.ErrQuiet) {
		for _, state := range c.fleet.States() {
			if state.Err == nil {
				c.fleet.Probe(state.VCenter)
			}
		}
	}
	next := c.events.emitVerdicts(ctx, n, r, withoutVM(n, err, uninitializedEventDelay))
	if c.labels.Load() != nil {
		next = sooner(next, c.writer.writeCondition(ctx, n, r, r.reportedReadiness(aboutVM)))
	}
	return next
}

// reannounceDelay is the time after which an announcement is repeated. The framework may have dropped it, or
// may retry a failed write only after 15 minutes.
const reannounceDelay = resyncEvery / 2

func (c *Controller) syncInitialized(ctx context.Context, n *v1.Node, r *nodeRecord) time.Duration {
	r.metadata = nil
	d := c.placer.Decide(n)
	c.storeDecision(n, r, d, d.VMErr)
	next := c.writer.annotate(ctx, n, r)
	l := c.labels.Load()
	var policy *plan.Policy
	var todo *plan.Plan
	if l != nil {
		policy, todo = c.planLabels(l, n, r)
		if !todo.Due.IsZero() {
			next = sooner(next, max(time.Until(todo.Due), time.Millisecond))
		}
	}
	verdicts := problemsOf(n, d, policy, todo, time.Now())
	next = sooner(next, c.events.emitVerdicts(ctx, n, r, verdicts...))
	if !mayBeForeign(n, d) {
		c.store.Lock()
		isNew := time.Since(r.initializedAt) < addressGracePeriod
		c.store.Unlock()
		c.events.emitAddressChange(n, r, isNew)
	}
	if l == nil {
		return next
	}
	next = sooner(next, c.events.emitVerdicts(ctx, n, r, partitionOf(n, r)))
	if d.VM != nil {
		next = sooner(next, c.events.emitConflicts(ctx, n, r))
	}
	next = sooner(next, c.writeLabels(ctx, l, n, r, todo))
	if report.WasNeverManaged(n, d) && report.ConditionOf(n).Status != "" {
		return sooner(next, c.writer.removeCondition(ctx, n, r))
	}
	return sooner(next, c.writer.writeCondition(ctx, n, r, r.readinessOf(n, todo, verdicts)))
}

// storeDecision also enqueues a pass over all Nodes if the Node begins to share its VM or address.
func (c *Controller) storeDecision(n *v1.Node, r *nodeRecord, d *placement.Decision, err error) {
	isShared := d.Shared || errors.Is(err, addresses.ErrClaimed)
	if isShared && !r.isShared {
		c.queue.AddAfter(item{job: observeNodes}, max(gatherDelay, c.passes.pause()))
	}
	r.decision = d
	r.vm = d.VM
	r.isShared = isShared
	if err != nil {
		r.vm = nil
	}
	c.store.Lock()
	r.node = n
	c.store.Unlock()
}

// syncDeletion starts to confirm the absence of a VM before the framework asks whether it exists.
func (c *Controller) syncDeletion(ctx context.Context, n *v1.Node, r *nodeRecord) time.Duration {
	a := c.checker.CheckAhead(n)
	keptReason := placement.KeptReason(a.Err)
	c.store.Lock()
	r.isAbsent = a.InSnapshots
	r.stats.keptReason = keptReason
	c.store.Unlock()
	next := c.syncOutOfService(ctx, n, r, a.Taint, a.Evidence)
	return sooner(next, c.events.emitVerdicts(ctx, n, r, deletionOf(a.InSnapshots, a.Err)))
}
