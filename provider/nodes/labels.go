package nodes

import (
	"context"
	"errors"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
)

// fresh is the greatest age of the vCenter's last answer when a Node is written. A wait for names of tags that
// lasts longer than namesTime begins anew.
const fresh, namesTime = 2 * time.Second, 10 * time.Minute

// labeler has the state that the labels of all Nodes share. The goroutine that decides owns it; writes are
// counted under the store's lock.
type labeler struct {
	// recordOnPod records an Event on the daemon's own Pod. It does not wait.
	recordOnPod func(eventType, reason, message string)
	writes      map[plan.Action]int
	conflicts   topology.FleetConflicts
	// unread has the objects whose tags the account may not read, system the folders among them
	// that vSphere makes itself. unread was last emptied at unreadSince, so that Events are repeated.
	unread, system recorded
	unreadSince    time.Time
}

// labelState is the part of a record that is about the labels of an initialized Node.
type labelState struct {
	// waiting reports whether the Node is decided about again at the next answer of a vCenter. asked is one
	// more than the generation of the fleet at which the vCenter was asked for one, 0 if it was not.
	waiting bool
	asked   int64
	// namesSince is the time since when a write waits for names of tags, zero if none does.
	namesSince time.Time

	drifts  []plan.Timed
	resized []plan.Timed // the instance type, if it differs
	// placed is the Node's placement for conflicts of the fleet, see place. It follows from the policy by.
	placed topology.Placement
	by     topology.Policy
	// reported has the conflicts with an Event: their labels by their keys.
	reported map[string][]string
}

// KeepLabels makes Run keep the labels of running Nodes until the context is done. Problems of many Nodes are
// recorded on the daemon's own Pod, by a function that must not wait.
func (c *Controller) KeepLabels(ctx context.Context, recordOnPod func(eventType, reason, message string)) error {
	select {
	case <-c.running:
	case <-ctx.Done():
		return nil
	}
	c.labels.Store(&labeler{
		recordOnPod: recordOnPod,
		writes:      map[plan.Action]int{}, unread: recorded{}, system: recorded{},
	})
	c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
	for _, n := range c.nodes.All() {
		c.queue.Add(itemOf(n))
	}
	<-ctx.Done()
	// Until then Run records Events.
	<-c.stopped
	return nil
}

// planLabels plans the labels of an initialized Node, and counts how they differ.
func (c *Controller) planLabels(l *labeler, n *v1.Node, r *record) (*plan.Policy, *plan.Plan) {
	d := r.decision
	k := &r.labels
	by := &plan.Policy{Topology: d.Topology}
	k.waiting = false
	k.place(d)
	todo := by.For(n, d, k.drifts, k.resized, time.Now())
	k.drifts = todo.Drifts
	k.resized = todo.Resized
	c.store.Lock()
	defer c.store.Unlock()
	r.counted.drifting = len(k.drifts) > 0
	r.counted.resized = len(k.resized) > 0
	if d.Machine != nil {
		r.counted.conflicts = l.conflicts.Of(d.Placement)
	}
	return by, todo
}

// writeLabels writes what is planned. The write carries the resource version, so it fails if somebody else has written since.
// It returns the time after which to decide again.
func (c *Controller) writeLabels(ctx context.Context, l *labeler, n *v1.Node, r *record, todo *plan.Plan) time.Duration {
	if !todo.RestsOnVCenter() {
		r.labels.namesSince = time.Time{}
	} else if !c.isFresh(r) {
		return 0
	}
	if !todo.Writes() {
		c.limiters.labels.release(r)
		return 0
	}
	log := r.log(ctx)
	return c.writer.send(ctx, n, r, &r.labelPatches, c.limiters.labels, patch{
		about: "the topology", kind: types.MergePatchType, body: todo.Patch(n),
		written: func() {
			c.store.Lock()
			l.count(todo)
			c.store.Unlock()
			c.events.written(log, n, todo)
		},
	})
}

// count notes what was written.
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

// isFresh reports whether the vCenter's last answer is new enough to write the Node. If not, it asks the vCenter
// for an answer or for the names of its tags, and the Node is decided about again after that.
func (c *Controller) isFresh(r *record) bool {
	d := r.decision
	k := &r.labels
	old := k.waitsForNames(d)
	if !old && time.Since(d.Contact) <= fresh {
		return true
	}
	k.waiting = true
	if now := c.passes.generation.Load(); k.asked != now+1 {
		k.asked = now + 1 // once until something has changed
		if old {
			c.fleet.ReadTags(d.Machine.Ref.VCenter)
		} else {
			c.fleet.Probe(d.Machine.Ref.VCenter)
		}
	}
	return false
}

// waitsForNames reports whether the names of tags have to be read before a Node is written. Names that were
// read since the Node began to wait are good, even if reading takes longer than their greatest age.
func (k *labelState) waitsForNames(d *placement.Decision) bool {
	switch {
	case !d.OldNames:
		k.namesSince = time.Time{}
		return false
	case k.namesSince.IsZero() || time.Since(k.namesSince) > namesTime:
		k.namesSince = time.Now()
	}
	return d.TagNamesReadAt.Before(k.namesSince)
}

// place notes the placement of a Node. If some of its labels are unknown now and no other label has changed,
// the former placement stays, because a mixture of two placements may be a place that the Node never had.
func (k *labelState) place(d *placement.Decision) {
	unknown := false
	changed := !reflect.DeepEqual(k.by, d.Topology.Policy)
	for _, former := range k.placed.Decisions {
		value := d.Placement.Value(former.Label)
		if value == "" && isUnknown(d, former.Label) {
			unknown = true
		} else if value != former.Value {
			changed = true
		}
	}
	if !unknown || changed {
		k.placed = d.Placement
		k.by = d.Topology.Policy
	}
}

// isUnknown reports whether a fact behind a label could not be read.
func isUnknown(d *placement.Decision, label string) bool {
	return errors.Is(d.PlaceErr, topology.ErrUnknown) || errors.Is(d.Placement.WhyUndecided(label), topology.ErrUnknown)
}
