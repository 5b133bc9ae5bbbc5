package nodes

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/plan"
)

// recentFor is how long a Node may take to be announced as initialized after it was.
const recentFor = 10 * time.Second

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

// noteWrittenByFramework notes the labels of levels that came with the write that initialized the
// Node, unless that is somebody else's.
func (c *Controller) noteWrittenByFramework(before, now *v1.Node) {
	if c.placer.IsForeign(now) {
		return
	}
	written := map[string]string{}
	for _, label := range c.recentLabels() {
		_, had := before.Labels[label]
		if value, has := now.Labels[label]; has && !had && plan.IsRemovable(label) {
			written[label] = value
		}
	}
	if len(written) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stateLocked(now.UID).byFramework = written
	}
}

// forgetLabels ends what is known of the labels of a Node that the framework initializes.
func (c *Controller) forgetLabels(s *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.labels = labelState{}
}
