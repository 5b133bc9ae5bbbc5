package nodes

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
)

// maxAnswerAge limits the age of a vCenter's last answer when a label is written.
const maxAnswerAge, tagNamesTimeout = 2 * time.Second, 10 * time.Minute

// labeler is the state shared by the labels of all Nodes. The deciding goroutine owns it, except writes
// and partitioned, which the store's lock guards.
type labeler struct {
	emitOnPod func(eventType, reason, message string)
	writes    map[plan.Action]int
	conflicts topology.FleetConflicts
	// These contain the reported objects whose tags are unreadable, and the keys of the reported conflicts about
	// categories. unread and categories are cleared about hourly, last at clearedAt, so that their Events are
	// repeated.
	unread, systemUnread reportedObjects
	categories           map[string]bool
	clearedAt            time.Time

	partitions map[nodeinfo.Zone]partitionedZone
	// partitioned contains for each zone whether it is partitioned. It is replaced and never changed.
	partitioned map[nodeinfo.Zone]bool
}

type labelState struct {
	// isWaiting means that the next answer of a vCenter requeues the Node. askedGeneration is 1 more than the
	// generation at which the vCenter was last asked to answer, or 0.
	isWaiting       bool
	askedGeneration int64
	namesWaitStart  time.Time

	drifts  []plan.Timed
	resized []plan.Timed
	// placed is for conflicts between Nodes, see keepPlaced.
	placed       topology.Placement
	placedPolicy topology.Policy
	// reported contains the labels of each conflict that an Event reported, by the conflict's key.
	reported map[string][]string
}

// KeepLabels makes Run keep labels current until the context is done. emitOnPod must not block.
func (c *Controller) KeepLabels(ctx context.Context, emitOnPod func(eventType, reason, message string)) error {
	select {
	case <-c.running:
	case <-ctx.Done():
		return nil
	}
	c.labeler.Store(&labeler{
		emitOnPod: emitOnPod,
		writes:    map[plan.Action]int{}, unread: reportedObjects{}, systemUnread: reportedObjects{},
		categories: map[string]bool{}, partitions: map[nodeinfo.Zone]partitionedZone{},
	})
	c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
	c.queue.AddAfter(item{job: findPartitions}, partitionsEvery)
	for _, n := range c.nodes.All() {
		c.queue.Add(itemOf(n))
	}
	<-ctx.Done()
	// Run may call emitOnPod until it has stopped.
	<-c.stopped
	return nil
}

func (c *Controller) planLabels(l *labeler, n *v1.Node, r *nodeRecord) (*plan.Policy, *plan.Plan) {
	d := r.decision
	k := &r.labels
	policy := &plan.Policy{Topology: d.Topology}
	k.isWaiting = false
	todo := policy.For(n, d, k.drifts, k.resized, time.Now())
	k.drifts = todo.Drifts
	k.resized = todo.Resized
	k.keepPlaced(d)
	c.store.Lock()
	defer c.store.Unlock()
	r.stats.drifting = len(k.drifts) > 0
	r.stats.resized = len(k.resized) > 0
	if d.VM != nil {
		r.stats.conflicts = l.conflicts.Of(d.Placement)
	}
	return policy, todo
}

// writeLabels writes with the resource version, so that a concurrent write wins.
func (c *Controller) writeLabels(ctx context.Context, l *labeler, n *v1.Node, r *nodeRecord, todo *plan.Plan) time.Duration {
	if !todo.RestsOnVCenter() {
		r.labels.namesWaitStart = time.Time{}
	} else if !c.requireFresh(r) {
		return 0
	}
	if !todo.Writes() {
		c.limiters.labels.release(r)
		return 0
	}
	log := r.log(ctx)
	return c.writer.send(ctx, n, r, &r.labelPatches, c.limiters.labels, patch{
		description: "the topology", kind: types.MergePatchType, body: todo.Patch(n),
		written: func() {
			c.store.Lock()
			l.count(todo)
			c.store.Unlock()
			c.events.emitWritten(log, n, todo)
		},
	})
}

func (l *labeler) count(todo *plan.Plan) {
	for _, ch := range todo.Changes {
		l.writes[ch.Action]++
	}
	switch {
	case todo.Retaint && todo.Taint:
		l.writes[plan.ActionTaint]++
	case todo.Retaint:
		l.writes[plan.ActionUntaint]++
	}
}

// requireFresh reports whether the vCenter was read recently. If not, it requests a reading, which requeues the
// Node.
func (c *Controller) requireFresh(r *nodeRecord) bool {
	d := r.decision
	k := &r.labels
	needsNames := k.awaitNames(d)
	if !needsNames && time.Since(d.LastContact) <= maxAnswerAge {
		return true
	}
	k.isWaiting = true
	if generation := c.passes.generation.Load(); k.askedGeneration != generation+1 {
		k.askedGeneration = generation + 1
		if needsNames {
			c.fleet.ReadTags(d.VM.Ref.VCenter)
		} else {
			c.fleet.Probe(d.VM.Ref.VCenter)
		}
	}
	return false
}

// awaitNames reports whether the tag names must be read again: they are old, and were not read since the
// Node began to wait for them. If the Node does not wait yet, the wait begins.
func (k *labelState) awaitNames(d *placement.Decision) bool {
	switch {
	case !d.HasOldTagNames:
		k.namesWaitStart = time.Time{}
		return false
	case k.namesWaitStart.IsZero() || time.Since(k.namesWaitStart) > tagNamesTimeout:
		k.namesWaitStart = time.Now()
	}
	return d.TagNamesReadAt.Before(k.namesWaitStart)
}
