package reconcile

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
)

// spanEvery is the time between two looks at the whole fleet while it changes.
const spanEvery = 5 * time.Second

// basis is what the placements of all Nodes rest on beside their own machines.
type basis struct {
	// by is how they get their labels.
	by *config.Topology
	// hidden are the tag categories that each vCenter does not show.
	hidden map[string][]string
}

func (c *Controller) basis() basis { return basis{c.source.Topology(), c.source.Hidden()} }

// follow enqueues the Nodes whose machines have changed, whenever a vCenter's
// state has, all of them when what they all rest on has, and looks for pairs of
// region and zone that span vCenters. The first Nodes are decided about by on.
func (c *Controller) follow(ctx context.Context, states <-chan struct{}, on basis) {
	look := time.After(spanEvery)
	for {
		select {
		case <-states:
			switch now := c.basis(); {
			case now.by != on.by:
				c.lately()
				c.enqueueAll(ctx)
				on = now
			case !maps.EqualFunc(now.hidden, on.hidden, slices.Equal):
				c.enqueueAll(ctx)
				on = now
			default:
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

// span finds the conflicts of the whole fleet: pairs that machines of several vCenters
// have, and values that are not nested. It enqueues all Nodes if those have changed. A
// Node that cannot be placed now is where it was.
func (c *Controller) span(ctx context.Context) {
	var seen unreadSeen
	var placements []topology.Placement
	policy := c.source.Topology().Policy
	nesting := policy.Nesting()
	pairs, values := map[topology.Pair]bool{}, map[topology.Value]bool{} // of Nodes of which these are not known now
	for n := range c.initialised(ctx) {
		place, err := c.source.Place(n)
		if err == nil {
			seen.add(&place)
		}
		placements = append(placements, place.Placement)
		c.asBefore(n, nesting, place.Placement, err, pairs, values)
	}
	spanning, unnested := topology.Spanning(slices.Values(placements)), policy.Unnested(slices.Values(placements))
	volumes := policy.Volumes(slices.Values(placements), c.source.Tagged())
	c.mu.Lock()
	same := take(&c.spanning, spanning, pairs)
	same = take(&c.unnested, unnested, values) && same
	same = c.takeVolumes(volumes, pairs) && same
	c.mu.Unlock()
	c.tellUnread(ctx, &seen)
	c.tellNotCSI(ctx, policy)
	if !same {
		c.enqueueAll(ctx)
	}
}

// asBefore notes the pair and the values that a Node had, if what they rest on is not
// known now.
func (c *Controller) asBefore(n *v1.Node, nesting []string, placed topology.Placement, err error, pairs map[topology.Pair]bool, values map[topology.Value]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[n.Name]
	if k == nil || k.uid != n.UID {
		return
	}
	if _, ok := placed.Pair(); !ok && !certain(placed, err) {
		pairs[k.pair] = true
	}
	if !slices.ContainsFunc(nesting, func(label string) bool { return isUnknown(label, placed, err) }) {
		return
	}
	for _, value := range k.values {
		values[value] = true
	}
}

// take replaces the conflicts by those that are found, and keeps those of kept. It
// reports whether that is the same as before.
func take[K comparable](before *map[K]topology.Conflict, found map[K]topology.Conflict, kept map[K]bool) bool {
	if found == nil {
		found = map[K]topology.Conflict{}
	}
	for k := range kept {
		if was, ok := (*before)[k]; ok {
			found[k] = was
		}
	}
	same := maps.EqualFunc(found, *before, func(a, b topology.Conflict) bool { return a.Text() == b.Text() })
	*before = found
	return same
}

// takeVolumes replaces the conflicts of volumes likewise. The lock is held.
func (c *Controller) takeVolumes(found map[topology.Pair][]topology.Conflict, kept map[topology.Pair]bool) bool {
	if found == nil {
		found = map[topology.Pair][]topology.Conflict{}
	}
	for pair := range kept {
		if was, ok := c.volumes[pair]; ok && found[pair] == nil {
			found[pair] = was
		}
	}
	same := maps.EqualFunc(found, c.volumes, func(a, b []topology.Conflict) bool {
		return slices.EqualFunc(a, b, func(a, b topology.Conflict) bool { return a.Text() == b.Text() })
	})
	c.volumes = found
	return same
}

// tellNotCSI tells once of each label whose value the CSI driver does not see.
func (c *Controller) tellNotCSI(ctx context.Context, policy topology.Policy) {
	told := map[string]bool{}
	for _, conflict := range policy.NotCSI() {
		text := conflict.Text()
		if told[text] = true; !c.notSeen[text] {
			klog.FromContext(ctx).Info("The CSI driver sees other values than Nodes have", "text", text)
			c.tell(v1.EventTypeNormal, reasonConflict, text)
		}
	}
	c.notSeen = told
}

// conflictsOf are those of a placement and of the fleet. The lock is held.
func (c *Controller) conflictsOf(placed topology.Placement) []topology.Conflict {
	all := placed.Conflicts[:len(placed.Conflicts):len(placed.Conflicts)]
	if pair, ok := placed.Pair(); ok {
		if spans, ok := c.spanning[pair]; ok {
			all = append(all, spans)
		}
		all = append(all, c.volumes[pair]...)
	}
	for _, d := range placed.Decisions {
		if crosses, ok := c.unnested[topology.Value{Label: d.Label, Value: d.Value}]; ok {
			all = append(all, crosses)
		}
	}
	return all
}
