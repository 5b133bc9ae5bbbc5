package nodes

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
)

// recentFor is how long a Node may take to be announced as initialized after it was.
const recentFor = 10 * time.Second

// labelState is what is remembered of the labels of an initialized Node.
type labelState struct {
	// waiting reports whether the Node is to be looked at whenever a vCenter has
	// answered, and asked for which change of the fleet it asked the vCenter for that.
	waiting bool
	asked   int
	// namesSince is when names of tags were first asked for to write it, zero if they are not.
	namesSince time.Time

	drifts    []plan.Timed
	resized   []plan.Timed // the instance type, if it differs
	conflicts []topology.Conflict
	// pair is the last one that it had for certain, zero if none.
	pair topology.Pair
	// values are the last ones that it had for certain, of the labels that nest.
	values []topology.Value
	// unplaced is why the Node has no placement, and since when.
	unplaced      string
	unplacedSince time.Time
	// recorded are the texts of the last Events, by what they are about.
	recorded map[string]string
	// reported are the labels of the conflicts that an Event was recorded about, by
	// their texts.
	reported map[string][]string
	// turn is when it may record something.
	turn turn
}

// recentRules are those that Nodes get their labels by, and before the ones until they
// changed.
type recentRules struct {
	now, before *config.Topology
	changed     time.Time
}

// labels returns the labels that Nodes get by the present rules, and those that they got
// until a moment ago: a Node that was initialized by the rules before may be announced after
// they have changed.
func (r *recentRules) labels(now *config.Topology) []string {
	if now != r.now {
		r.before, r.now, r.changed = r.now, now, time.Now()
	}
	labels := now.Policy.Labels()
	if r.before == nil || time.Since(r.changed) > recentFor {
		return labels
	}
	return slices.Concat(labels, r.before.Policy.Labels())
}

// recentLabels returns the labels that the framework may have written to a Node that is
// announced as initialized now.
func (c *Controller) recentLabels() []string {
	now := c.places.Topology()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules.labels(now)
}

// adopt notes the labels of levels that came with the write that initialized the
// Node, unless that is somebody else's.
func (c *Controller) adopt(before, now *v1.Node) {
	if c.placer.IsForeign(now) {
		return
	}
	adopted := map[string]string{}
	for _, label := range c.recentLabels() {
		_, had := before.Labels[label]
		if value, has := now.Labels[label]; has && !had && plan.IsRemovable(label) {
			adopted[label] = value
		}
	}
	if len(adopted) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stateLocked(now.UID).adopted = adopted
	}
}

// forgetLabels ends what is known of the labels of a Node that the framework initializes.
func (c *Controller) forgetLabels(s *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.labels = labelState{}
}

// waitsForNames reports whether the names of tags have to be read before a Node is
// written. What was read since it began to wait for that serves, also if reading takes
// longer than names may be old.
func (k *labelState) waitsForNames(place *placement.Place) bool {
	switch {
	case !place.OldNames:
		k.namesSince = time.Time{}
		return false
	case k.namesSince.IsZero() || time.Since(k.namesSince) > namesTime:
		k.namesSince = time.Now()
	}
	return place.TagNamesReadAt.Before(k.namesSince)
}

// decide plans for a Node, and records what is found. The error is why it has no placement.
func (c *Controller) decide(ctx context.Context, l *labeler, n *v1.Node, s *state, place placement.Place, err error) *plan.Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &s.labels
	if k.recorded == nil {
		k.recorded, k.reported = map[string]string{}, map[string][]string{}
	}
	by := &plan.Policy{Topology: place.Topology}
	k.waiting = false
	k.stands(by.Policy.Nesting(), place.Placement, err)
	var todo *plan.Plan
	var due []time.Time
	unplacedFor := err
	if err != nil {
		todo = by.WithoutPlacement(n, s.adopted)
		k.drifts = nil // what comes next has to settle from its beginning
	} else {
		todo = by.For(n, place.Placement, k.drifts, s.adopted, time.Now())
		k.drifts = todo.Drifts
		err = todo.TaintKept
		_, uncertain := plan.UncertainLabel(n, place.Placement)
		due = append(due, l.recordDrift(ctx, n, k, by, todo, uncertain))
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
		k.conflicts = l.conflicts.of(place.Placement)
		due = append(due, l.recordConflicts(ctx, n, k, place.Placement, unplacedFor), l.recordUnplaced(ctx, n, k, err))
	}
	if !todo.Writes() {
		s.adopted = nil // they are noted, or gone
	}
	k.await(todo, due)
	return todo
}

// await notes in a plan when there is something to record.
func (k *labelState) await(todo *plan.Plan, due []time.Time) {
	for _, d := range due {
		if !d.IsZero() && (todo.Due.IsZero() || d.Before(todo.Due)) {
			todo.Due = d
		}
	}
	if !slices.ContainsFunc(due, func(d time.Time) bool { return !d.IsZero() }) {
		k.turn.done()
	}
}

// stands notes where a Node is for certain. What cannot be said now is as it was.
func (k *labelState) stands(nesting []string, placed topology.Placement, err error) {
	if pair, ok := placed.Pair(); ok || isCertain(placed, err) {
		k.pair = pair
	}
	before := k.values
	k.values = make([]topology.Value, 0, len(nesting))
	for _, label := range nesting {
		value := topology.Value{Label: label, Value: placed.Value(label)}
		if value.Value == "" && isUnknown(label, placed, err) {
			if i := slices.IndexFunc(before, func(v topology.Value) bool { return v.Label == label }); i >= 0 {
				value = before[i]
			}
		}
		if value.Value != "" {
			k.values = append(k.values, value)
		}
	}
}

// isUnknown reports whether something could not be read that a label rests on.
func isUnknown(label string, placed topology.Placement, err error) bool {
	return errors.Is(err, topology.ErrUnknown) || errors.Is(placed.WhyUndecided(label), topology.ErrUnknown)
}

// isCertain reports whether everything was read that a pair of region and zone rests on.
func isCertain(placed topology.Placement, err error) bool {
	return !errors.Is(err, topology.ErrUnknown) && !slices.ContainsFunc(placed.Undecided, func(u topology.Undecided) bool {
		return !plan.IsLevel(u.Label) && errors.Is(u.Err, topology.ErrUnknown)
	})
}
