package nodes

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/nodestate"
	"vzones/vcenter/inventory"
)

const (
	// timePerNode is how much time lies between two passes over all Nodes for each of them, so
	// that a burst of changes costs a tenth of a processor at most. It is observeEvery at most, and none for
	// few Nodes.
	timePerNode  = 100 * time.Microsecond
	observeEvery = time.Second
	fewNodes     = 100
)

// passes are the passes over all Nodes. They belong to the goroutine that decides but for what
// is below the lock.
type passes struct {
	interest interest
	// basis is what the Nodes were last decided by.
	basis basis

	mu sync.Mutex
	// generation counts the changes of the fleet.
	generation int
	// last is when the last pass began, nodes how many Nodes there were.
	last  time.Time
	nodes int
}

// basis is what the placements of all Nodes rest on beside their own machines.
type basis struct {
	// by is how they get their labels.
	by *config.Topology
	// hidden are the tag categories that each vCenter does not show.
	hidden map[string][]string
}

func (c *Controller) basis() basis { return basis{c.placer.Topology(), c.placer.InvisibleCategories()} }

func (b basis) equal(as basis) bool {
	return b.by == as.by && maps.EqualFunc(b.hidden, as.hidden, slices.Equal)
}

// pause returns how long the next pass over all Nodes has to wait.
func (p *passes) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes <= fewNodes {
		return 0
	}
	return max(time.Until(p.last.Add(min(time.Duration(p.nodes)*timePerNode, observeEvery))), 0)
}

// begin notes a pass over all Nodes.
func (p *passes) begin(nodes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.nodes = time.Now(), nodes
}

// changed notes a change of the fleet.
func (p *passes) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation++
}

// current returns the number of changes of the fleet.
func (p *passes) current() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// fleetChanged enqueues what a change of the fleet concerns. Nodes whose machine is absent do
// not wait for the others: whatever contradicts that must not be missed.
func (c *Controller) fleetChanged() {
	c.passes.changed()
	c.queue.AddAfter(item{job: observeNodes}, c.passes.pause())
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, s := range c.states {
		if s.absent && s.node != nil {
			c.queue.Add(item{name: s.node.Name, uid: uid})
		}
	}
}

// nodesChanged enqueues what follows for other Nodes when one comes, goes, or gives up
// something that another may wait for.
func (c *Controller) nodesChanged() { c.queue.AddAfter(item{job: recheckNodes}, gather) }

// followChanged has the fleet follow other machines soon.
func (c *Controller) followChanged() { c.queue.AddAfter(item{job: followNodes}, gather) }

// recheck enqueues the Nodes that are what they are because of other Nodes, or that the
// framework was refused although they had been announced.
func (c *Controller) recheck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, s := range c.states {
		if s.node != nil && (s.shared || s.announced != nil && c.placer.IsRefused(uid)) {
			c.queue.Add(item{name: s.node.Name, uid: uid})
		}
	}
}

// observe enqueues the Nodes whose place may have changed: all of them when what they all
// rest on has, and otherwise those whose machine has, or of which it is not known.
func (c *Controller) observe(ctx context.Context) {
	now := c.basis()
	all := !now.equal(c.passes.basis)
	c.passes.basis = now
	states := c.fleet.States()
	nodes := c.nodes.All()
	c.passes.begin(len(nodes))
	if all {
		// The configuration also says which Nodes are ours and by what they are found.
		c.passes.interest.update(c.fleet, c.placer, nodes, false)
	}
	for _, n := range nodes {
		if ctx.Err() != nil {
			return
		}
		if c.placer.IsForeign(n) {
			c.forgetForeign(n)
			continue
		}
		if m := c.certain(n); all || m == nil || c.placer.Observe(states, n) != m {
			c.queue.Add(itemOf(n))
		}
	}
	c.findConflictsSoon() // after these have been decided about
}

// forgetForeign has a Node forgotten that was ours until the configuration changed.
func (c *Controller) forgetForeign(n *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states[n.UID] != nil {
		c.queue.Add(itemOf(n))
	}
}

// certain returns the machine for which a Node was decided about, nil if it has to be decided
// about whichever machine it has.
func (c *Controller) certain(n *v1.Node) *inventory.Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[n.UID]
	switch {
	case s == nil, s.labels.waiting:
		return nil
	case nodestate.IsUninitialized(n) && (s.node != n || s.announced == nil || c.placer.IsRefused(n.UID)):
		return nil
	}
	return s.machine
}

// resync enqueues all Nodes, and does so again later.
func (c *Controller) resync() {
	c.queue.AddAfter(item{job: resyncNodes}, resyncEvery)
	nodes := c.nodes.All()
	c.passes.begin(len(nodes))
	for _, n := range nodes {
		if !c.placer.IsForeign(n) {
			c.queue.Add(itemOf(n))
		}
	}
	c.passes.interest.update(c.fleet, c.placer, nodes, true)
}
