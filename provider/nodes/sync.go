package nodes

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
)

// handlers ignore changes that affect no decision, such as heartbeats.
func (c *Controller) handlers() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.changed(nil, o) },
		UpdateFunc: c.changed,
		DeleteFunc: func(o any) { c.changed(o, nil) },
	}
}

func nodeIn(o any) *v1.Node {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	n, _ := o.(*v1.Node)
	return n
}

// changed enqueues what a Node's change affects: the Node, the Nodes that depend on it, and jobs, among them watchVMs.
func (c *Controller) changed(oldObj, newObj any) {
	old := nodeIn(oldObj)
	n := nodeIn(newObj)
	isSameVM := false
	if old != nil && n != nil && old.UID != n.UID {
		c.changed(old, nil)
		old = nil
	}
	switch {
	case n == nil && old == nil:
	case n == nil:
		// syncNode forgets the Node.
		c.queue.Add(itemOf(old))
	case old == nil:
		c.queue.Add(itemOf(n))
		c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
	default:
		c.placer.ReleaseShown(n)
		if nodeinfo.IsUninitialized(old) && !nodeinfo.IsUninitialized(n) {
			c.store.Lock()
			c.store.record(n).initializedAt = time.Now()
			c.store.Unlock()
			defer c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
		}
		if nodeinfo.IsSilent(old) != nodeinfo.IsSilent(n) {
			c.queue.AddAfter(item{job: findPartitions}, partitionsEvery)
		}
		othersAffected := mayAffectOthers(c.placer, old, n)
		if othersAffected || affectsOnlyItself(old, n) {
			c.queue.Add(itemOf(n))
		}
		if !othersAffected {
			return
		}
		isSameVM = watchKey(c.placer, old) == watchKey(c.placer, n)
	}
	c.queue.AddAfter(item{job: requeueDependents}, gatherDelay)
	if !isSameVM {
		c.queue.AddAfter(item{job: watchVMs}, gatherDelay)
	}
}

func watchKey(p placer, n *v1.Node) string {
	if p.IsForeign(n) {
		return ""
	}
	id, err := p.ReportedIdentity(n)
	if err != nil {
		return ""
	}
	return id.VMKey()
}

// affectsOnlyItself reports whether a Node's update changes data that vzones wrote, or reads for this Node only.
func affectsOnlyItself(old, n *v1.Node) bool {
	oldCondition := report.ConditionOf(old)
	condition := report.ConditionOf(n)
	return !maps.Equal(old.Labels, n.Labels) || plan.IsTainted(old) != plan.IsTainted(n) || isOutOfService(old) != isOutOfService(n) ||
		old.Annotations[nodeinfo.KeyLabels] != n.Annotations[nodeinfo.KeyLabels] ||
		oldCondition.Status != condition.Status || oldCondition.Reason != condition.Reason || oldCondition.Message != condition.Message ||
		nodeinfo.IsSilent(old) != nodeinfo.IsSilent(n) || nodeinfo.HasCSIDriver(old) != nodeinfo.HasCSIDriver(n) ||
		nodeinfo.IsUninitialized(n) && !maps.Equal(old.Annotations, n.Annotations)
}

func mayAffectOthers(p placer, old, n *v1.Node) bool {
	return old.UID != n.UID || old.Spec.ProviderID != n.Spec.ProviderID ||
		old.Status.NodeInfo.SystemUUID != n.Status.NodeInfo.SystemUUID ||
		nodeinfo.IsUninitialized(old) != nodeinfo.IsUninitialized(n) || nodeinfo.IsReady(old) != nodeinfo.IsReady(n) ||
		p.IsForeign(old) != p.IsForeign(n) || placement.AddressesDiffer(old, n)
}

type item struct {
	job  job
	name string
	uid  types.UID
}

func itemOf(n *v1.Node) item { return item{name: n.Name, uid: n.UID} }

type job int

const (
	syncNode job = iota
	enqueueAffected
	requeueDependents
	resyncNodes
	watchVMs
	logSummary
	findConflicts
	findPartitions
)

func (c *Controller) processNext(ctx context.Context) bool {
	i, done := c.queue.Get()
	if done {
		return false
	}
	defer c.queue.Done(i)
	if ctx.Err() != nil {
		return false
	}
	switch i.job {
	case watchVMs:
		c.watchVMs(c.nodes.All(), false)
	case resyncNodes:
		c.resyncNodes()
	case syncNode:
		if delay := c.syncNode(ctx, i); delay > 0 {
			c.queue.AddAfter(i, delay)
		}
	case enqueueAffected:
		c.enqueueAffected(ctx)
	case requeueDependents:
		c.requeueDependents()
	case logSummary:
		c.logSummary(ctx)
	case findConflicts:
		if l := c.labeler.Load(); l != nil {
			c.findConflicts(ctx, l)
		}
	case findPartitions:
		if l := c.labeler.Load(); l != nil {
			c.findPartitions(ctx, l)
		}
	}
	return true
}

// sooner returns the shorter delay, but ignores delays that are not positive.
func sooner(a, b time.Duration) time.Duration {
	if b <= 0 || a > 0 && a < b {
		return a
	}
	return b
}

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

// forget removes the record of a Node that was deleted or is not ours. From a Node that was ours, it first removes our
// out-of-service taint if nodes.selector now excludes the Node, or our condition if another cloud controller manager
// initialized it.
func (c *Controller) forget(ctx context.Context, i item) time.Duration {
	n, err := c.nodes.Get(i.name)
	if err == nil && n.UID == i.uid {
		isOtherProviders := nodeinfo.IsOtherProviders(n.Spec.ProviderID)
		_, hasOurTaint := nodeinfo.OutOfServiceTaint(n)
		switch {
		case isOtherProviders && report.ConditionOf(n).Status != "" && c.labeler.Load() != nil:
			return c.writer.removeCondition(ctx, n, c.store.undecidedRecord(n))
		case !isOtherProviders && c.placer.IsForeign(n) && hasOurTaint:
			return c.removeFormerTaint(ctx, n)
		}
	}
	c.store.forget(i.uid)
	return 0
}

// syncJoining announces a Node to the framework once it can be initialized. The framework then asks for its metadata
// (provider.Provider.InstanceMetadata), and writes them. Until then the Node gets only Events and a condition.
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
	// Read Rejected after Join: a rejection before Join returned may be based on older data than d, so the Node must be
	// announced again.
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
	if c.labeler.Load() != nil {
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
	l := c.labeler.Load()
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
	next = sooner(next, c.events.emitVerdicts(ctx, n, r, partitionVerdict(n, r)))
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
		c.queue.AddAfter(item{job: enqueueAffected}, max(gatherDelay, c.passes.pause()))
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
	r.isAbsent = a.IsAbsent
	r.stats.keptReason = keptReason
	c.store.Unlock()
	next := c.syncOutOfService(ctx, n, r, a.Taint, a.Evidence)
	return sooner(next, c.events.emitVerdicts(ctx, n, r, deletionOf(a.IsAbsent, a.Err)))
}
