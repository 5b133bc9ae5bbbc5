package nodes

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
)

// Stats are the counts that the metrics show of Nodes. Each map has every key that there is.
type Stats struct {
	// Outcomes counts all Nodes by the outcome of the last decision, Waiting only those that are not
	// initialized. A Node that waits and is placed is about to be initialized.
	Outcomes, Waiting map[string]int
	// Kept counts the Nodes that are not ready and whose machines are not found, by the reason why they are kept.
	Kept map[string]int
	// LabelsAreKept is false until KeepLabels runs; the fields below are 0 until then.
	LabelsAreKept bool
	// Drifting is the number of Nodes whose labels differ from their place, Resized of those whose
	// instance type is not what their machine is.
	Drifting, Resized int
	// Conflicts are the numbers of Nodes by kind of conflict.
	Conflicts map[topology.ConflictKind]int
	// Writes are the changes written, by action.
	Writes map[plan.Action]int
}

// Stats returns what is counted now. Before the Nodes are known all is 0.
func (c *Controller) Stats() Stats {
	s := Stats{
		Outcomes: zeros(report.Outcomes()), Waiting: zeros(report.Outcomes()), Kept: zeros(placement.KeptReasons()),
		Conflicts: zeros(topology.ConflictKinds()), Writes: zeros(plan.Actions()),
	}
	if !c.nodes.IsStarted() {
		return s
	}
	c.store.Lock()
	defer c.store.Unlock()
	if l := c.labels.Load(); l != nil {
		s.LabelsAreKept = true
		maps.Copy(s.Writes, l.writes)
	}
	for _, n := range c.nodes.All() {
		r := c.store.records[n.UID]
		switch {
		case c.placer.IsForeign(n):
			r = &record{counted: counted{outcome: report.Foreign}}
		case r == nil || r.phase == undecided:
			continue // nothing is decided about it yet
		}
		s.add(r.counted, nodeinfo.IsUninitialized(n))
	}
	return s
}

// add counts a Node.
func (s *Stats) add(n counted, waits bool) {
	s.Outcomes[n.outcome]++
	if waits {
		s.Waiting[n.outcome]++
	}
	if n.kept != "" {
		s.Kept[n.kept]++
	}
	if n.drifting {
		s.Drifting++
	}
	if n.resized {
		s.Resized++
	}
	kinds := map[topology.ConflictKind]bool{}
	for _, conflict := range n.conflicts {
		if !kinds[conflict.Kind] {
			s.Conflicts[conflict.Kind]++
		}
		kinds[conflict.Kind] = true
	}
}

// zeros returns 0 for each key.
func zeros[K comparable](keys []K) map[K]int {
	counts := map[K]int{}
	for _, k := range keys {
		counts[k] = 0
	}
	return counts
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

// otherProviders are the Nodes of VMs here whose provider IDs are of others.
type otherProviders struct {
	nodes int
	// of has the schemes of these IDs.
	of string
}

// logOtherProviders logs them if there are more than before. Without that, nothing would say why a cluster whose Nodes were
// initialized by another cloud controller manager gets no zones.
func (c *Controller) logOtherProviders(ctx context.Context) {
	var now otherProviders
	var schemes []string
	states := c.fleet.States()
	for _, n := range c.nodes.All() {
		if scheme := c.placer.OtherProvider(states, n); scheme != "" {
			schemes = append(schemes, scheme)
			now.nodes++
		}
	}
	slices.Sort(schemes)
	now.of = quote.Some(slices.Compact(schemes), quote.Most)
	before := c.loggedOthers
	c.loggedOthers = now
	if now.nodes <= before.nodes && (now.nodes == 0 || now.of == before.of) {
		return
	}
	klog.FromContext(ctx).Info("Nodes on VMs of vSphere have another provider's ID, and are left alone; vzones explain VZ168 says what to do", "nodes", now.nodes, "of", now.of)
}

// logSum logs how many Nodes are placed if that has changed, and enqueues itself.
func (c *Controller) logSum(ctx context.Context) {
	c.queue.AddAfter(item{job: sumNodes}, sumEvery)
	c.logOtherProviders(ctx)
	stats := c.Stats()
	now := sum{drifting: stats.Drifting}
	for outcome, n := range stats.Outcomes {
		waiting := stats.Waiting[outcome]
		now.waiting += waiting
		switch outcome {
		case report.Foreign:
		case report.Placed:
			now.placed = n - waiting
		default:
			now.unplaced += n - waiting
		}
	}
	if now == c.logged {
		return
	}
	c.logged = now
	klog.FromContext(ctx).Info("Nodes by placement", "placed", now.placed, "unplaced", now.unplaced, "waiting", now.waiting, "drifting", now.drifting)
}
