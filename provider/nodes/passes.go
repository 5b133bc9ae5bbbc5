package nodes

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

const (
	// gatherDelay collects changes of Nodes, so that a burst costs one recheck and one Follow.
	gatherDelay = 100 * time.Millisecond
	// resyncEvery is the longest time between two passes over all Nodes.
	resyncEvery = time.Minute
	// timePerNode is the pause between two passes for each Node, at most observeEvery in total, so a burst of changes
	// costs at most a tenth of a CPU. For up to fewNodes Nodes there is no pause.
	timePerNode  = 100 * time.Microsecond
	observeEvery = time.Second
	fewNodes     = 100
)

// passes is the state of the passes over all Nodes. The deciding goroutine owns it.
type passes struct {
	// vms are the keys of the watched VMs, locations their values of the annotation KeyVM.
	vms, locations []string
	// topology contains the rules of the last pass, hidden the tag categories that each vCenter did not show
	// then.
	topology *config.Topology
	hidden   map[string][]string

	// generation counts the changes of the fleet. next is the earliest time of the next pass, nil before the
	// first. Any goroutine may use both.
	generation atomic.Int64
	next       atomic.Pointer[time.Time]
}

func (p *passes) pause() time.Duration {
	next := p.next.Load()
	if next == nil {
		return 0
	}
	return max(time.Until(*next), 0)
}

func (p *passes) begin(nodes int) {
	var pause time.Duration
	if nodes > fewNodes {
		pause = min(time.Duration(nodes)*timePerNode, observeEvery)
	}
	next := time.Now().Add(pause)
	p.next.Store(&next)
}

func (c *Controller) enqueueChanges(ctx context.Context, changes <-chan struct{}) {
	c.queue.Add(item{job: resyncNodes})
	c.queue.AddAfter(item{job: logSummary}, firstSummaryDelay)
	for {
		select {
		case <-changes:
			c.fleetChanged()
		case <-ctx.Done():
			return
		}
	}
}

// fleetChanged enqueues a pass, and Nodes with an absent VM at once, to miss no evidence against the absence.
func (c *Controller) fleetChanged() {
	c.passes.generation.Add(1)
	c.queue.AddAfter(item{job: enqueueAffected}, c.passes.pause())
	c.store.Lock()
	defer c.store.Unlock()
	for uid, r := range c.store.records {
		if r.isAbsent {
			c.enqueueLocked(uid)
		}
	}
}

// requeueDependents enqueues Nodes that depend on other Nodes.
func (c *Controller) requeueDependents() {
	c.store.Lock()
	defer c.store.Unlock()
	for uid, r := range c.store.records {
		if r.isShared {
			c.enqueueLocked(uid)
		}
	}
}

// enqueueAffected enqueues the Nodes whose placement may have changed.
func (c *Controller) enqueueAffected(ctx context.Context) {
	states := c.fleet.States()
	nodes := c.nodes.All()
	p := &c.passes
	rules := c.placer.Topology()
	hidden := inventory.InvisibleByVCenter(states)
	isFull := rules != p.topology || !maps.EqualFunc(hidden, p.hidden, slices.Equal)
	p.topology = rules
	p.hidden = hidden
	p.begin(len(nodes))
	if isFull {
		// The configuration also determines which Nodes are ours and how their VMs are found.
		c.watchVMs(nodes, false)
	}
	for _, n := range nodes {
		if ctx.Err() != nil {
			return
		}
		r := c.recordOf(n)
		switch {
		case c.placer.IsForeign(n):
			if r != nil {
				// syncNode forgets the Node.
				c.queue.Add(itemOf(n))
			}
		case isFull, r == nil, !isDecidedFor(r, n), c.placer.Observe(states, n) != r.vm:
			c.queue.Add(itemOf(n))
		}
	}
	c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
}

func (c *Controller) recordOf(n *v1.Node) *nodeRecord {
	c.store.Lock()
	defer c.store.Unlock()
	return c.store.records[n.UID]
}

// isDecidedFor reports whether the Node need not be decided about again while its VM stays the same: it does not wait for
// its VM, to be announced, or for a reading that requireFresh requested.
func isDecidedFor(r *nodeRecord, n *v1.Node) bool {
	if nodeinfo.IsUninitialized(n) && (r.node != n || r.phase != announced) {
		return false
	}
	return r.vm != nil && !r.labels.isWaiting
}

func (c *Controller) resyncNodes() {
	c.queue.AddAfter(item{job: resyncNodes}, resyncEvery)
	c.queue.AddAfter(item{job: findPartitions}, partitionsEvery)
	nodes := c.nodes.All()
	c.watchVMs(nodes, true)
	c.passes.begin(len(nodes))
	for _, n := range nodes {
		if !c.placer.IsForeign(n) {
			c.queue.Add(itemOf(n))
		}
	}
}

// watchVMs makes the fleet watch the Nodes' VMs. Only resyncNodes passes withLocations, since new Nodes get their
// locations at different times.
func (c *Controller) watchVMs(nodes []*v1.Node, withLocations bool) {
	ids := make([]inventory.Identity, 0, len(nodes))
	var vms, locations []string
	for _, n := range nodes {
		if c.placer.IsForeign(n) {
			continue
		}
		id, err := c.placer.ReportedIdentity(n)
		if err != nil {
			continue
		}
		ids = append(ids, id)
		vms = append(vms, id.VMKey())
		if id.Recorded.VCenter != "" {
			locations = append(locations, nodeinfo.FormatLocation(id.Recorded))
		}
	}
	slices.Sort(vms)
	slices.Sort(locations)
	p := &c.passes
	if !slices.Equal(vms, p.vms) || withLocations && !slices.Equal(locations, p.locations) {
		p.vms = vms
		p.locations = locations
		c.fleet.Follow(ids)
	}
}
