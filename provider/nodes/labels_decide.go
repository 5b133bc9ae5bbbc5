package nodes

import (
	"cmp"
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/placement"
	"vzones/provider/plan"
)

// decide plans for a Node, and records what is found. The error is why it has no placement. It
// returns what the Node's condition has to say besides, and when to decide again.
func (c *Controller) decide(ctx context.Context, l *labeler, n *v1.Node, s *state, place placement.Place, err error) (*plan.Plan, readiness, time.Duration) {
	k := &s.labels
	if k.reported == nil {
		k.reported = map[string][]string{}
	}
	if place.Machine != nil {
		k.vcenter = place.Machine.Ref.VCenter
	}
	by := &plan.Policy{Topology: place.Topology}
	k.waiting = false
	k.noteCertain(by.Policy.Nesting(), place.Placement, err)
	var todo *plan.Plan
	if err != nil {
		todo = by.WithoutPlacement(n) // what comes next has to settle from its beginning
	} else {
		todo = by.For(n, place.Placement, k.drifts, time.Now())
	}
	by.ForType(todo, n, &place, k.resized, time.Now())
	c.mu.Lock()
	k.drifts, k.resized = todo.Drifts, todo.Resized
	if place.Machine != nil {
		k.conflicts = l.conflicts.Of(place.Placement)
	}
	c.mu.Unlock()
	if !todo.RestsOnVCenter() {
		k.namesSince = time.Time{}
	}
	next := until(todo.Due)
	if err == nil {
		if len(todo.Drifts) == 0 {
			k.home.note(place.Placement)
		}
		next = sooner(next, c.recordDrift(ctx, n, s, by, &place, todo))
	}
	next = sooner(next, c.recordType(ctx, n, s, by, &place, todo))
	if place.Machine != nil {
		next = sooner(next, c.recordConflicts(ctx, n, s, &place, err))
		next = sooner(next, c.recordUnplaced(ctx, n, s, &place, cmp.Or(err, todo.TaintKept)))
	} else if t := s.problems[aboutPlace]; t != nil {
		t.End() // for now: what comes next has to last from its beginning
	}
	says, wait := s.labelReadiness(n, &place, todo)
	return todo, says, sooner(next, wait)
}
