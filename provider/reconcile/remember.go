package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/keys"
	"vzones/topology"
)

func uninitialized(n *v1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// changed says whether a Node has changed in what is decided about.
func changed(b, n *v1.Node) bool {
	return b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
		!maps.Equal(b.Labels, n.Labels) || b.Annotations[keys.Labels] != n.Annotations[keys.Labels] ||
		isTainted(b) != isTainted(n) || uninitialized(b) != uninitialized(n)
}

// of returns what is known of a Node. The lock is held.
func (c *Controller) of(n *v1.Node) *known {
	k := c.known[n.Name]
	if k == nil || k.uid != n.UID {
		k = &known{uid: n.UID, said: map[string]string{}, told: map[string][]string{}}
		c.known[n.Name] = k
	}
	return k
}

func (c *Controller) forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, node)
}

// claim notes the labels of levels that came with the write that initialised the
// Node, unless that is somebody else's.
func (c *Controller) claim(before, now *v1.Node) {
	if _, err := c.informer.Lister().Get(now.Name); err != nil {
		return
	}
	claims := map[string]string{}
	for _, label := range c.lately() {
		_, had := before.Labels[label]
		if value, has := now.Labels[label]; has && !had && isRemovable(label) {
			claims[label] = value
		}
	}
	if len(claims) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.claims[now.UID] = claims
	}
}

// lately returns the labels that Nodes get, and those that they got until a moment
// ago: a Node that was initialised by the rules before may be told of after them.
func (c *Controller) lately() []string {
	now := c.source.Topology()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now != c.rules {
		c.before, c.rules, c.changed = c.rules, now, time.Now()
	}
	labels := now.Policy.Labels()
	if c.before == nil || time.Since(c.changed) > afterwards {
		return labels
	}
	return slices.Concat(labels, c.before.Policy.Labels())
}

func (c *Controller) disclaim(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, node)
}

func (c *Controller) arrive() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

func (c *Controller) wait(n *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(n).waiting = true
}

// waitsForNames reports whether the names of tags have to be read before a Node is
// written. What was read since it began to wait for that serves, also if reading takes
// longer than names may be old.
func (c *Controller) waitsForNames(n *v1.Node, place *Place) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(n)
	switch {
	case !place.OldNames:
		k.asked = time.Time{}
		return false
	case k.asked.IsZero() || time.Since(k.asked) > namesTime:
		k.asked = time.Now()
	}
	return place.Named.Before(k.asked)
}

// decide looks where a Node is, plans, and tells of what is found.
func (c *Controller) decide(ctx context.Context, n *v1.Node) (Place, *plan) {
	place, err := c.source.Place(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(n)
	by := &policy{place.Topology}
	k.machine, k.waiting = place.Machine, false
	k.stands(by.Policy.Nesting(), place.Placement, err)
	var todo *plan
	var due []time.Time
	unplacedFor := err
	if err != nil {
		todo = by.undecided(n, c.claims[n.UID])
		k.drifts = nil // what comes afterwards has to settle anew
	} else {
		todo = by.decide(n, place.Placement, k.drifts, c.claims[n.UID], time.Now())
		k.drifts = todo.drifts
		err = todo.doubt
		_, doubt := inDoubt(n, place.Placement)
		due = append(due, c.tellDrift(ctx, n, k, by, todo, doubt))
	}
	by.followType(todo, n, &place, k.resized, time.Now())
	k.resized = todo.resized
	due = append(due, c.tellType(ctx, n, k, by, &place, todo))
	if !todo.rests() {
		k.asked = time.Time{}
	}
	if place.Machine == nil {
		k.unplaced = ""
	} else {
		k.conflicts = c.conflictsOf(place.Placement)
		due = append(due, c.tellConflicts(ctx, n, k, place.Placement, unplacedFor), c.tellUnplaced(ctx, n, k, err))
	}
	if !todo.writes() {
		delete(c.claims, n.UID) // they are noted, or gone
	}
	todo.await(k, due)
	return place, todo
}

// await notes when there is something to tell.
func (p *plan) await(k *known, due []time.Time) {
	for _, d := range due {
		if !d.IsZero() && (p.due.IsZero() || d.Before(p.due)) {
			p.due = d
		}
	}
	if !slices.ContainsFunc(due, func(d time.Time) bool { return !d.IsZero() }) {
		k.turn = time.Time{}
	}
}

// stands notes where a Node is for certain. What cannot be said now is as it was.
func (k *known) stands(nesting []string, placed topology.Placement, err error) {
	if pair, ok := placed.Pair(); ok || certain(placed, err) {
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

// isUnknown says whether something could not be read that a label rests on.
func isUnknown(label string, placed topology.Placement, err error) bool {
	return errors.Is(err, topology.ErrUnknown) || errors.Is(placed.WhyUndecided(label), topology.ErrUnknown)
}

// certain says whether everything was read that a pair of region and zone rests on.
func certain(placed topology.Placement, err error) bool {
	return !errors.Is(err, topology.ErrUnknown) && !slices.ContainsFunc(placed.Undecided, func(u topology.Undecided) bool {
		return !isLevel(u.Label) && errors.Is(u.Err, topology.ErrUnknown)
	})
}

// Stats are what the controller counts.
type Stats struct {
	// Drifting is the number of Nodes whose labels are not those of their place.
	Drifting int
	// Resized is the number of Nodes whose instance type is not what their machine is.
	Resized int
	// Conflicts are the numbers of Nodes by kind of conflict.
	Conflicts map[topology.ConflictKind]int
	// Writes are the changes written, by action.
	Writes map[Action]int
}

// Stats returns what is counted now. Every kind and action is in it.
func (c *Controller) Stats() Stats {
	s := Stats{Conflicts: map[topology.ConflictKind]int{}, Writes: map[Action]int{}}
	for _, kind := range topology.ConflictKinds() {
		s.Conflicts[kind] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range Actions() {
		s.Writes[a] = c.writes[a]
	}
	for _, k := range c.known {
		if len(k.drifts) > 0 {
			s.Drifting++
		}
		if len(k.resized) > 0 {
			s.Resized++
		}
		var kinds []topology.ConflictKind
		for _, conflict := range k.conflicts {
			if !slices.Contains(kinds, conflict.Kind) {
				kinds = append(kinds, conflict.Kind)
				s.Conflicts[conflict.Kind]++
			}
		}
	}
	return s
}
