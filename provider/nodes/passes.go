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
	// gather is how long changes of Nodes are gathered, so that a burst of them costs one request.
	gather = 100 * time.Millisecond
	// resyncEvery is the time between two passes over all Nodes while nothing changes. A pass renews
	// what this process remembers about machines.
	resyncEvery = time.Minute
	// timePerNode, times the number of Nodes, is the pause between two passes over all Nodes, so that a
	// burst of changes costs at most a tenth of a processor. The pause is at most observeEvery, and 0 if there
	// are at most fewNodes.
	timePerNode  = 100 * time.Microsecond
	observeEvery = time.Second
	fewNodes     = 100
)

// passes has the state of the passes over all Nodes. The goroutine that decides owns it.
type passes struct {
	// machines are the keys of the machines that the fleet follows, and locations the annotations that
	// say where they were found.
	machines, locations []string
	// topology has the rules of the last pass, and hidden the tag categories that each vCenter did not
	// show then.
	topology *config.Topology
	hidden   map[string][]string

	// generation counts the changes of the fleet, and next is when the next pass may begin, nil before the
	// first. It has a monotonic reading, so that a change of the wall clock delays no pass. Any goroutine
	// may use both.
	generation atomic.Int64
	next       atomic.Pointer[time.Time]
}

// pause returns how long the next pass over all Nodes has to wait.
func (p *passes) pause() time.Duration {
	next := p.next.Load()
	if next == nil {
		return 0
	}
	return max(time.Until(*next), 0)
}

// begin notes a pass over all Nodes.
func (p *passes) begin(nodes int) {
	var pause time.Duration
	if nodes > fewNodes {
		pause = min(time.Duration(nodes)*timePerNode, observeEvery)
	}
	next := time.Now().Add(pause)
	p.next.Store(&next)
}

// fleetChanged enqueues a pass after a change of the fleet. Nodes whose machine is absent are enqueued at once,
// so that nothing that contradicts the absence is missed.
func (c *Controller) fleetChanged() {
	c.passes.generation.Add(1)
	c.queue.AddAfter(item{job: observeNodes}, c.passes.pause())
	c.store.Lock()
	defer c.store.Unlock()
	for uid, r := range c.store.records {
		if r.absent {
			c.enqueueLocked(uid)
		}
	}
}

// recheck enqueues the Nodes whose decision depends on other Nodes, and those that were announced and
// then refused.
func (c *Controller) recheck() {
	c.store.Lock()
	defer c.store.Unlock()
	for uid, r := range c.store.records {
		if r.shared || r.phase == announced && r.answers.Refused {
			c.enqueueLocked(uid)
		}
	}
}

// observe enqueues the Nodes whose place may have changed: all Nodes if the rules or the visible categories
// have changed, and otherwise the Nodes whose machine has changed or is not certain.
func (c *Controller) observe(ctx context.Context) {
	states := c.fleet.States()
	nodes := c.nodes.All()
	p := &c.passes
	by := c.placer.Topology()
	hidden := inventory.InvisibleByVCenter(states)
	all := by != p.topology || !maps.EqualFunc(hidden, p.hidden, slices.Equal)
	p.topology = by
	p.hidden = hidden
	p.begin(len(nodes))
	if all {
		// The configuration also says which Nodes are ours and by what they are found.
		c.follow(nodes, false)
	}
	for _, n := range nodes {
		if ctx.Err() != nil {
			return
		}
		r, isRefused := c.recordOf(n)
		switch {
		case c.placer.IsForeign(n):
			if r != nil {
				// It was ours until the configuration changed, and the sync forgets it.
				c.queue.Add(itemOf(n))
			}
		case all, r == nil, isRefused, !isDecidedFor(r, n), c.placer.Observe(states, n) != r.machine:
			c.queue.Add(itemOf(n))
		}
	}
	c.queue.AddAfter(item{job: findConflicts}, conflictsEvery) // after these have been decided about
}

// recordOf returns the record of a Node, nil if it has none, and whether it waits again since it was announced.
func (c *Controller) recordOf(n *v1.Node) (r *record, isRefused bool) {
	c.store.Lock()
	defer c.store.Unlock()
	r = c.store.records[n.UID]
	return r, r != nil && nodeinfo.IsUninitialized(n) && r.answers.Refused
}

// isDecidedFor reports whether the decision about a Node holds as long as it has the machine of its record.
func isDecidedFor(r *record, n *v1.Node) bool {
	if nodeinfo.IsUninitialized(n) && (r.node != n || r.phase != announced) {
		return false
	}
	return r.machine != nil && !r.labels.waiting
}

// resync follows all machines and enqueues all Nodes, and does so again later.
func (c *Controller) resync() {
	c.queue.AddAfter(item{job: resyncNodes}, resyncEvery)
	nodes := c.nodes.All()
	c.follow(nodes, true)
	c.passes.begin(len(nodes))
	for _, n := range nodes {
		if !c.placer.IsForeign(n) {
			c.queue.Add(itemOf(n))
		}
	}
}

// follow tells the fleet which machines to follow, if those have changed. A changed location counts only if
// whole is true: locations are of use after a restart, and hundreds of new Nodes get theirs one by one.
func (c *Controller) follow(nodes []*v1.Node, whole bool) {
	ids := make([]inventory.Identity, 0, len(nodes))
	var machines, locations []string
	for _, n := range nodes {
		if c.placer.IsForeign(n) {
			continue
		}
		id, err := c.placer.Statement(n)
		if err != nil {
			continue
		}
		ids = append(ids, id)
		machines = append(machines, id.MachineKey())
		if id.Recorded.VCenter != "" {
			locations = append(locations, nodeinfo.FormatLocation(id.Recorded))
		}
	}
	slices.Sort(machines)
	slices.Sort(locations)
	p := &c.passes
	if !slices.Equal(machines, p.machines) || whole && !slices.Equal(locations, p.locations) {
		p.machines = machines
		p.locations = locations
		c.fleet.Follow(ids)
	}
}
