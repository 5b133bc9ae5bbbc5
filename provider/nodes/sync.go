package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
)

// syncNode decides about a Node. It returns the time after which it has to be called again, 0 for not before
// a change.
func (c *Controller) syncNode(ctx context.Context, i item) time.Duration {
	n, err := c.nodes.Lister().Get(i.name)
	if err != nil || n.UID != i.uid {
		c.store.forget(i.uid) // it is gone, or somebody else's
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
	c.store.Unlock()
	if !r.eventWaits {
		c.paces.events.leave(r) // the Event that waited is not due any more
	}
	if next > resyncEvery {
		return 0 // resync comes before
	}
	return next
}

// syncJoining announces a Node to the framework if it can be initialized. Otherwise an Event says why the Node
// waits.
func (c *Controller) syncJoining(ctx context.Context, n *v1.Node, r *record) time.Duration {
	r.labels, r.addresses = labelState{}, nil
	c.store.Lock()
	r.counted.drifting, r.counted.resized, r.counted.conflicts = false, false, nil
	c.store.Unlock()
	maps.DeleteFunc(r.problems, func(about string, _ *report.Tracker) bool { return about != aboutMachine && about != aboutDeletion })
	d, err := c.placer.Join(n, false)
	c.store.Lock()
	if r.answers.Refused { // read after Join, so that no refusal by what was right before is missed
		r.answers.Refused, r.announced = false, nil
	}
	c.store.Unlock()
	c.decided(n, r, d, err)
	if err == nil {
		if !reflect.DeepEqual(r.announced, d.Metadata) || time.Since(r.announcedAt) >= announceAgain {
			r.announced, r.announcedAt = d.Metadata, time.Now()
			c.nodes.Announce(n)
		}
		c.events.over(ctx, n, r, aboutMachine)
		return 0
	}
	r.announced = nil
	if errors.Is(err, placement.ErrQuiet) {
		for _, of := range c.fleet.States() {
			if of.Err == nil {
				c.fleet.Probe(of.VCenter)
			}
		}
	}
	next := c.events.machineProblem(ctx, n, r, err, waitingBeforeEvent)
	if c.labels.Load() != nil {
		next = sooner(next, c.writeCondition(ctx, n, r, r.readiness(aboutMachine)))
	}
	return next
}

// announceAgain is the time after which a Node that is still not initialized is announced again with the same
// metadata. The framework may have dropped the announcement, or may repeat a refused write only after a quarter
// of an hour.
const announceAgain = resyncEvery / 2

// syncRunning writes the annotations, the labels and the condition of an initialized Node, and records Events
// about its problems.
func (c *Controller) syncRunning(ctx context.Context, n *v1.Node, r *record) time.Duration {
	r.announced, r.announcedAt = nil, time.Time{}
	d := c.placer.Decide(n)
	c.decided(n, r, d, d.MachineErr)
	next := c.annotate(ctx, n, r)
	ours, wait := c.recordMachine(ctx, n, r)
	next = sooner(next, wait)
	l := c.labels.Load()
	if l == nil {
		return next
	}
	says, wait := c.syncLabels(ctx, l, n, r)
	next = sooner(next, wait)
	switch {
	case !ours && report.ConditionOf(n).Status == "":
		says = readiness{}
	case report.NeverOurs(n, d):
		return sooner(next, c.removeCondition(ctx, n, r))
	case !ours: // what it says may have been right when it was written
		says, wait = r.isNotKnown(aboutOwner, d.MachineErr)
		next = sooner(next, wait)
	case machineProblem(n, d) != nil:
		says = r.readiness(aboutMachine)
	}
	return sooner(next, c.writeCondition(ctx, n, r, says))
}

// decided notes the decision about a Node and its error. If the Node begins to share something with other Nodes,
// these are enqueued too.
func (c *Controller) decided(n *v1.Node, r *record, d *placement.Decision, err error) {
	shared := d.Shared || errors.Is(err, addresses.ErrClaimed)
	if shared && !r.shared {
		c.queue.AddAfter(item{job: observeNodes}, max(gather, c.passes.pause()))
	}
	r.decision, r.machine, r.shared = d, d.Machine, shared
	if err != nil {
		r.machine = nil // look again whenever something changes
	}
	c.store.Lock()
	r.node = n
	c.store.Unlock()
}

// annotate writes the location of a Node's machine into annotations if that has changed, and the label of
// initialized Nodes when the Node has its machine alone. It returns the time after which it has to be called
// again.
func (c *Controller) annotate(ctx context.Context, n *v1.Node, r *record) time.Duration {
	to := map[string]any{"uid": n.UID}
	if len(r.decision.Annotations) > 0 {
		to["annotations"] = r.decision.Annotations
	}
	if r.decision.MachineErr == nil && n.Spec.ProviderID != "" && n.Labels[nodeinfo.KeyInitialized] == "" {
		to["labels"] = map[string]string{nodeinfo.KeyInitialized: "true"}
	}
	if len(to) == 1 {
		c.paces.annotations.leave(r)
		return 0
	}
	return c.send(ctx, n, r, &r.annotation, c.paces.annotations, patch{
		about: "annotations", kind: types.MergePatchType, body: map[string]any{"metadata": to},
	})
}

// machineProblem returns why the machine of an initialized Node is not certain, or why the Node gets only labels.
func machineProblem(n *v1.Node, d *placement.Decision) error {
	return cmp.Or(d.MachineErr, nodeinfo.CheckProviderID(n))
}

// recordMachine records Events about the problems of an initialized Node's machine and addresses, and about
// their ends. It reports whether the Node is ours, as far as that is known.
func (c *Controller) recordMachine(ctx context.Context, n *v1.Node, r *record) (ours bool, wait time.Duration) {
	err := machineProblem(n, r.decision)
	never := n.Spec.ProviderID == "" && !r.decision.WasFound && (errors.Is(err, topology.ErrAbsent) || errors.Is(err, topology.ErrUnknown))
	switch {
	case err == nil:
		c.events.over(ctx, n, r, aboutMachine)
	case never && !errors.Is(err, placement.ErrShared):
		delete(r.problems, aboutMachine)
		return false, 0
	default:
		wait = c.events.machineProblem(ctx, n, r, err, runningBeforeEvent)
	}
	delete(r.problems, aboutOwner)
	c.store.Lock()
	isNew := time.Since(r.initialized) < firstAddresses
	c.store.Unlock()
	wait = sooner(wait, c.events.leftOut(ctx, n, r))
	c.events.addressChange(n, r, isNew)
	return true, wait
}

// syncDeletion starts a search for an absent machine if the framework would delete its Node, so that there is
// an answer when the framework asks. It records why the Node is kept.
func (c *Controller) syncDeletion(ctx context.Context, n *v1.Node, r *record) time.Duration {
	absent, err := c.checker.CheckAhead(n)
	kept := placement.KeptBy(err)
	c.store.Lock()
	r.absent, r.counted.kept = absent, kept
	c.store.Unlock()
	switch {
	case placement.IsSearching(err):
		return 0 // its end enqueues the Node
	case absent && err == nil:
		delete(r.problems, aboutDeletion) // nothing is over: it is being deleted
		return 0
	case kept == "":
		c.events.over(ctx, n, r, aboutDeletion)
		return 0
	}
	why := fmt.Errorf("the Node is not ready, and not deleted: %w", err)
	p := report.Problem{Key: placement.KeptKey(err), Reason: placement.ReasonNotDeleted, Text: report.EventText(why), Detail: why.Error()}
	return c.events.problem(ctx, n, r, aboutDeletion, p, runningBeforeEvent)
}
