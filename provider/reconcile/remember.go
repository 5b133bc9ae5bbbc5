package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/topology"
)

func uninitialized(n *v1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// changed says whether a Node has changed in what is decided about.
func changed(b, n *v1.Node) bool {
	return b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
		!maps.Equal(b.Labels, n.Labels) || b.Annotations[labelsKey] != n.Annotations[labelsKey] ||
		isTainted(b) != isTainted(n) || uninitialized(b) != uninitialized(n)
}

// of returns what is known of a Node. The lock is held.
func (c *Controller) of(n *v1.Node) *known {
	k := c.known[n.UID]
	if k == nil {
		k = &known{name: n.Name, said: map[string]string{}}
		c.known[n.UID] = k
	}
	return k
}

func (c *Controller) forget(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, node)
}

// claim notes the labels of levels that came with the write that initialised the
// Node.
func (c *Controller) claim(before, now *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, label := range c.policy.Policy.Labels() {
		_, had := before.Labels[label]
		if _, has := now.Labels[label]; has && !had && isLevel(label) {
			k := c.of(now)
			k.claims = append(k.claims, label)
		}
	}
}

func (c *Controller) wait(n *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(n).waiting = true
}

// decide looks where a Node is, plans, and tells of what is found.
func (c *Controller) decide(ctx context.Context, n *v1.Node) (Place, *plan) {
	place, err := c.source.Place(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(n)
	k.machine, k.waiting = place.Machine, false
	if err != nil {
		k.drifts = nil // what comes afterwards has to settle anew
		todo := c.policy.undecided(n, k.claims)
		if place.Machine != nil {
			k.conflicts = c.conflictsOf(place.Placement)
			c.tellConflicts(ctx, n, k)
			todo.due = c.tellUnplaced(ctx, n, k, err)
		}
		return place, todo
	}
	todo := c.policy.decide(n, place.Placement, k.drifts, k.claims, time.Now())
	k.drifts, k.conflicts = todo.drifts, c.conflictsOf(place.Placement)
	k.unplaced = ""
	delete(k.said, unplaced)
	c.tellConflicts(ctx, n, k)
	c.tellDrift(ctx, n, k, todo)
	return place, todo
}

// Stats are what the controller counts.
type Stats struct {
	// Drifting is the number of Nodes whose labels are not those of their place.
	Drifting int
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
