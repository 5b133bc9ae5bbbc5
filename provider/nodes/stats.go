package nodes

import (
	"context"
	"maps"
	"time"

	"k8s.io/klog/v2"

	"vzones/provider/absence"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
)

// Stats are the metrics of the labels of Nodes.
type Stats struct {
	// Drifting is the number of Nodes whose labels differ from their place.
	Drifting int
	// Resized is the number of Nodes whose instance type is not what their machine is.
	Resized int
	// Conflicts are the numbers of Nodes by kind of conflict.
	Conflicts map[topology.ConflictKind]int
	// Writes are the changes written, by action.
	Writes map[plan.Action]int
}

// Stats returns what is counted of labels now, with every kind and action, and whether labels
// are kept.
func (c *Controller) Stats() (Stats, bool) {
	s := Stats{Conflicts: map[topology.ConflictKind]int{}, Writes: map[plan.Action]int{}}
	for _, kind := range topology.ConflictKinds() {
		s.Conflicts[kind] = 0
	}
	for _, a := range plan.Actions() {
		s.Writes[a] = 0
	}
	l := c.labels.Load()
	if l == nil {
		return s, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(s.Writes, l.writes)
	for _, r := range c.records {
		if r.counted.drifting {
			s.Drifting++
		}
		if r.counted.resized {
			s.Resized++
		}
		kinds := map[topology.ConflictKind]bool{}
		for _, conflict := range r.counted.conflicts {
			kinds[conflict.Kind] = true
		}
		for kind := range kinds {
			s.Conflicts[kind]++
		}
	}
	return s, true
}

// LabelEventReasons returns the reasons of the Events about the labels and addresses of initialized Nodes.
func LabelEventReasons() []string {
	return []string{reasonReaddressed, plan.ReasonDrift, reasonConflict, plan.ReasonBackfilled, plan.ReasonUpdated, plan.ReasonTypeDrift, plan.ReasonTypeUpdated, report.ReasonResolved}
}

// Kept counts the Nodes that are not ready and whose machines are not found, by why they
// are not deleted. Every reason is in the result. Before the Nodes are known all are 0.
func (c *Controller) Kept() map[string]int {
	counts := map[string]int{}
	for _, reason := range absence.KeptReasons() {
		counts[reason] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.records {
		if r.counted.kept != "" {
			counts[r.counted.kept]++
		}
	}
	return counts
}

// Outcomes counts the Nodes by what was decided about them last, and those of them that are not
// initialized as the same. Every outcome is in both results. Before the Nodes are known all
// are 0. A Node that waits and is placed is about to be initialized.
func (c *Controller) Outcomes() (all, waiting map[string]int) {
	all, waiting = report.Counts(), report.Counts()
	if !c.nodes.IsStarted() {
		return all, waiting
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes.All() {
		outcome := report.Foreign
		if !c.placer.IsForeign(n) {
			r := c.records[n.UID]
			if r == nil || r.counted.outcome == "" {
				continue // nothing is decided about it yet
			}
			outcome = r.counted.outcome
		}
		all[outcome]++
		if nodeinfo.IsUninitialized(n) {
			waiting[outcome]++
		}
	}
	return all, waiting
}

// firstSum is the time after which the Nodes are first counted for the log, when most of them are placed, and
// sumEvery the time between two counts.
const firstSum, sumEvery = 10 * time.Second, time.Minute

// A sum is how many Nodes of ours are placed.
type sum struct {
	// placed and unplaced are initialized Nodes whose place is known or unknown, waiting are Nodes
	// that are not initialized.
	placed, unplaced, waiting int
	// drifting are the Nodes whose labels differ from their place.
	drifting int
}

// logSum logs how many Nodes are placed, if that has changed, and does so again later.
func (c *Controller) logSum(ctx context.Context) {
	c.queue.AddAfter(item{job: sumNodes}, sumEvery)
	stats, _ := c.Stats()
	all, waiting := c.Outcomes()
	now := sum{drifting: stats.Drifting}
	for outcome, n := range all {
		now.waiting += waiting[outcome]
		switch outcome {
		case report.Foreign:
		case report.Placed:
			now.placed = n - waiting[outcome]
		default:
			now.unplaced += n - waiting[outcome]
		}
	}
	if now == c.logged {
		return
	}
	c.logged = now
	klog.FromContext(ctx).Info("Nodes by placement", "placed", now.placed, "unplaced", now.unplaced, "waiting", now.waiting, "drifting", now.drifting)
}
