package reconcile

import (
	"context"
	"iter"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
)

// spanEvery is the time between two looks at the whole fleet while it changes.
const spanEvery = 5 * time.Second

// follow enqueues the Nodes whose machines have changed, whenever a vCenter's
// state has, all of them when how they get their labels has, and looks for pairs
// of region and zone that span vCenters. The first Nodes are decided about by by.
func (c *Controller) follow(ctx context.Context, states <-chan struct{}, by *config.Topology) {
	look := time.After(spanEvery)
	for {
		select {
		case <-states:
			if now := c.source.Topology(); now != by {
				by = now
				c.lately()
				c.enqueueAll(ctx)
			} else {
				c.enqueueMoved(ctx)
			}
			if look == nil {
				look = time.After(spanEvery)
			}
		case <-c.arrived:
			if look == nil {
				look = time.After(spanEvery)
			}
		case <-look:
			look = nil
			c.span(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// initialised are the Nodes that the controller looks after.
func (c *Controller) initialised(ctx context.Context) iter.Seq[*v1.Node] {
	nodes, err := c.informer.Lister().List(labels.Everything())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot list Nodes") // it reads a cache
	}
	return func(yield func(*v1.Node) bool) {
		for _, n := range nodes {
			if !uninitialized(n) && !yield(n) {
				return
			}
		}
	}
}

func (c *Controller) enqueueAll(ctx context.Context) {
	for n := range c.initialised(ctx) {
		c.queue.Add(n.Name)
	}
}

func (c *Controller) enqueueMoved(ctx context.Context) {
	for n := range c.initialised(ctx) {
		machine := c.source.Machine(n)
		c.mu.Lock()
		k := c.known[n.Name]
		stale := k == nil || k.uid != n.UID || k.machine != machine || k.waiting
		c.mu.Unlock()
		if stale {
			c.queue.Add(n.Name)
		}
	}
}

// span finds the pairs that machines of several vCenters have, and enqueues all
// Nodes if those have changed. A Node that cannot be placed now is where it was.
func (c *Controller) span(ctx context.Context) {
	var unplaced []*v1.Node
	var seen unreadSeen
	found := topology.Spanning(func(yield func(topology.Placement) bool) {
		for n := range c.initialised(ctx) {
			place, err := c.source.Place(n)
			if err == nil {
				seen.add(&place)
			}
			if _, ok := place.Placement.Pair(); !ok && !certain(place.Placement, err) {
				unplaced = append(unplaced, n)
			}
			if !yield(place.Placement) {
				return
			}
		}
	})
	c.mu.Lock()
	for _, n := range unplaced {
		if k := c.known[n.Name]; k != nil && k.uid == n.UID {
			if spans, ok := c.spanning[k.pair]; ok {
				found[k.pair] = spans
			}
		}
	}
	same := maps.EqualFunc(found, c.spanning, func(a, b topology.Conflict) bool { return a.Text() == b.Text() })
	c.spanning = found
	c.mu.Unlock()
	c.tellUnread(ctx, &seen)
	if !same {
		c.enqueueAll(ctx)
	}
}

// conflictsOf are those of a placement and of the fleet. The lock is held.
func (c *Controller) conflictsOf(placed topology.Placement) []topology.Conflict {
	pair, ok := placed.Pair()
	if !ok {
		return placed.Conflicts
	}
	if spans, ok := c.spanning[pair]; ok {
		return append(placed.Conflicts[:len(placed.Conflicts):len(placed.Conflicts)], spans)
	}
	return placed.Conflicts
}
