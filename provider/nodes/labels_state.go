package nodes

import (
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
	turn reservation
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
	now := c.placer.Topology()
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
