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

// Stats are the metrics of Nodes. Each map contains all possible keys.
type Stats struct {
	// Outcomes counts all Nodes by outcome, Waiting only uninitialized Nodes.
	Outcomes, Waiting map[string]int
	// KeptReasons counts Nodes that are not deleted although their VM is absent.
	KeptReasons map[string]int
	// LabelsAreKept is false until KeepLabels runs. Until then the fields below are 0 or nil.
	LabelsAreKept bool
	// Drifting counts Nodes with labels that differ from the placement, Resized Nodes with another instance type.
	Drifting, Resized int
	Conflicts         map[topology.ConflictKind]int
	Writes            map[plan.Action]int
	// Partitioned contains for each zone of Nodes whether it is partitioned.
	Partitioned map[nodeinfo.Zone]bool
}

// Stats returns the current metrics, all 0 until the informer has the Nodes.
func (c *Controller) Stats() Stats {
	s := Stats{
		Outcomes: zeros(report.Outcomes()), Waiting: zeros(report.Outcomes()), KeptReasons: zeros(placement.KeptReasons()),
		Conflicts: zeros(topology.ConflictKinds()), Writes: zeros(plan.Actions()),
	}
	if !c.nodes.IsStarted() {
		return s
	}
	c.store.Lock()
	defer c.store.Unlock()
	if l := c.labeler.Load(); l != nil {
		s.LabelsAreKept = true
		maps.Copy(s.Writes, l.writes)
		s.Partitioned = l.partitioned
	}
	for _, n := range c.nodes.All() {
		r := c.store.records[n.UID]
		switch {
		case c.placer.IsForeign(n):
			r = &nodeRecord{stats: nodeStats{outcome: report.Foreign}}
		case r == nil || r.phase == undecided:
			continue
		}
		s.add(r.stats, nodeinfo.IsUninitialized(n))
	}
	return s
}

func (s *Stats) add(n nodeStats, isUninitialized bool) {
	s.Outcomes[n.outcome]++
	if isUninitialized {
		s.Waiting[n.outcome]++
	}
	if n.keptReason != "" {
		s.KeptReasons[n.keptReason]++
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

func zeros[K comparable](keys []K) map[K]int {
	counts := map[K]int{}
	for _, k := range keys {
		counts[k] = 0
	}
	return counts
}

const firstSummaryDelay, summaryEvery = 10 * time.Second, time.Minute

// A summary counts our Nodes: waiting the uninitialized Nodes, the other fields only initialized Nodes.
type summary struct {
	placed, unplaced, waiting int
	drifting                  int
}

// otherProviders are Nodes with another provider's ID whose VMs are in our vCenters.
type otherProviders struct {
	nodes   int
	schemes string
}

// logOtherProviders explains why a cluster that another cloud controller manager initialized gets no zones.
func (c *Controller) logOtherProviders(ctx context.Context) {
	var current otherProviders
	var schemes []string
	states := c.fleet.States()
	for _, n := range c.nodes.All() {
		if scheme := c.placer.OtherProvider(states, n); scheme != "" {
			schemes = append(schemes, scheme)
			current.nodes++
		}
	}
	slices.Sort(schemes)
	current.schemes = quote.Some(slices.Compact(schemes), quote.Most)
	previous := c.lastOtherProviders
	c.lastOtherProviders = current
	if current.nodes <= previous.nodes && (current.nodes == 0 || current.schemes == previous.schemes) {
		return
	}
	klog.FromContext(ctx).Info("Ignoring Nodes on vSphere VMs that have another provider's ID; vzones explain VZ168 shows what to do", "nodes", current.nodes, "of", current.schemes)
}

func (c *Controller) logSummary(ctx context.Context) {
	c.queue.AddAfter(item{job: logSummary}, summaryEvery)
	c.logOtherProviders(ctx)
	stats := c.Stats()
	current := summary{drifting: stats.Drifting}
	for outcome, n := range stats.Outcomes {
		waiting := stats.Waiting[outcome]
		current.waiting += waiting
		switch outcome {
		case report.Foreign:
		case report.Placed:
			current.placed = n - waiting
		default:
			current.unplaced += n - waiting
		}
	}
	if current == c.lastSummary {
		return
	}
	c.lastSummary = current
	klog.FromContext(ctx).Info("Nodes by placement", "placed", current.placed, "unplaced", current.unplaced, "waiting", current.waiting, "drifting", current.drifting)
}
