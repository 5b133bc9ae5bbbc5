package nodes

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/placement"
	"vzones/provider/plan"
)

// decide plans for a Node, and records what is found. The error is why it has no placement. It
// returns what the Node's condition has to say besides.
func (c *Controller) decide(ctx context.Context, l *labeler, n *v1.Node, s *state, place placement.Place, err error) (*plan.Plan, readiness) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &s.labels
	if k.recorded == nil {
		k.recorded, k.reported = map[string]recorded{}, map[string][]string{}
	}
	if place.Machine != nil {
		k.vcenter = place.Machine.Ref.VCenter
	}
	ctx = withVCenter(ctx, k.vcenter)
	by := &plan.Policy{Topology: place.Topology}
	k.waiting = false
	k.noteCertain(by.Policy.Nesting(), place.Placement, err)
	var todo *plan.Plan
	var due []time.Time
	unplacedFor := err
	if err != nil {
		todo = by.WithoutPlacement(n)
		k.drifts = nil // what comes next has to settle from its beginning
	} else {
		todo = by.For(n, place.Placement, k.drifts, time.Now())
		k.drifts = todo.Drifts
		if len(todo.Drifts) == 0 {
			k.home.note(place.Placement)
		}
		err = todo.TaintKept
		_, uncertain := plan.UncertainLabel(n, place.Placement)
		due = append(due, l.recordDrift(ctx, n, k, by, &place, todo, uncertain))
	}
	by.ForType(todo, n, &place, k.resized, time.Now())
	k.resized = todo.Resized
	due = append(due, l.recordType(ctx, n, k, by, &place, todo))
	if !todo.RestsOnVCenter() {
		k.namesSince = time.Time{}
	}
	if place.Machine == nil {
		k.unplaced = ""
	} else {
		k.conflicts = l.conflicts.Of(place.Placement)
		due = append(due, l.recordConflicts(ctx, n, k, &place, unplacedFor), l.recordUnplaced(ctx, n, k, &place, err))
	}
	k.await(todo, due)
	return todo, k.readiness(n, &place, todo)
}

// await notes in a plan when there is something to record.
func (k *labelState) await(todo *plan.Plan, due []time.Time) {
	for _, d := range due {
		if !d.IsZero() && (todo.Due.IsZero() || d.Before(todo.Due)) {
			todo.Due = d
		}
	}
	if !slices.ContainsFunc(due, func(d time.Time) bool { return !d.IsZero() }) {
		k.pace.done()
	}
}
