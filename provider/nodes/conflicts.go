package nodes

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/topology"
)

// conflictsEvery is the time between two passes over all Nodes for their conflicts.
const conflictsEvery = 5 * time.Second

// fleetConflicts are what is wrong with the whole fleet, and which of that was recorded.
type fleetConflicts struct {
	topology.FleetConflicts
	// notSeen are the texts about labels that the CSI driver does not see.
	notSeen map[string]bool
}

// findConflictsSoon enqueues the search for conflicts of the whole fleet, if labels are kept.
func (c *Controller) findConflictsSoon() {
	if c.labels.Load() != nil {
		c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
	}
}

// findConflicts finds the conflicts of the whole fleet: pairs that machines of several vCenters
// have, and values that are not nested. It enqueues all Nodes if those have changed. A
// Node that cannot be placed now is where it was.
func (c *Controller) findConflicts(ctx context.Context, l *labeler) {
	var seen unreadSeen
	var placements []topology.Placement
	policy := c.placer.Topology().Policy
	nesting := policy.Nesting()
	pairs, values := map[topology.Pair]bool{}, map[topology.Value]bool{} // of Nodes of which these are not known now
	for n := range c.initialized() {
		s := c.stateOf(n)
		if s.node == nil {
			continue // nothing is decided about it yet
		}
		if s.placeErr == nil {
			seen.add(&s.place)
		}
		placements = append(placements, s.place.Placement)
		s.asBefore(nesting, pairs, values)
	}
	found := policy.FleetConflicts(placements, c.placer.Tagged())
	same := take(&l.conflicts.Spanning, found.Spanning, pairs)
	same = take(&l.conflicts.Unnested, found.Unnested, values) && same
	same = l.conflicts.takeVolumes(found.Volumes, pairs) && same
	l.recordUnread(ctx, &seen)
	l.recordNotCSI(ctx, policy)
	if same {
		return
	}
	for n := range c.initialized() {
		c.queue.Add(itemOf(n))
	}
}

// asBefore notes the pair and the values that a Node had, if what they rest on is not
// known now.
func (s *state) asBefore(nesting []string, pairs map[topology.Pair]bool, values map[topology.Value]bool) {
	placed, err := s.place.Placement, s.placeErr
	if _, ok := placed.Pair(); !ok && !isCertain(placed, err) {
		pairs[s.labels.pair] = true
	}
	if !slices.ContainsFunc(nesting, func(label string) bool { return isUnknown(label, placed, err) }) {
		return
	}
	for _, value := range s.labels.values {
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

// takeVolumes replaces the conflicts of volumes likewise.
func (f *fleetConflicts) takeVolumes(found map[topology.Pair][]topology.Conflict, kept map[topology.Pair]bool) bool {
	if found == nil {
		found = map[topology.Pair][]topology.Conflict{}
	}
	for pair := range kept {
		if was, ok := f.Volumes[pair]; ok && found[pair] == nil {
			found[pair] = was
		}
	}
	same := maps.EqualFunc(found, f.Volumes, func(a, b []topology.Conflict) bool {
		return slices.EqualFunc(a, b, func(a, b topology.Conflict) bool { return a.Text() == b.Text() })
	})
	f.Volumes = found
	return same
}

// recordNotCSI records once each label whose value the CSI driver does not see.
func (l *labeler) recordNotCSI(ctx context.Context, policy topology.Policy) {
	recorded := map[string]bool{}
	for _, conflict := range policy.NotCSI() {
		text := conflict.Text()
		if recorded[text] = true; !l.conflicts.notSeen[text] {
			klog.FromContext(ctx).Info("The CSI driver sees other values than Nodes have", "text", text)
			l.recordOnPod(v1.EventTypeNormal, reasonConflict, text)
		}
	}
	l.conflicts.notSeen = recorded
}
