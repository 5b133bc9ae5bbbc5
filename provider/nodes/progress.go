package nodes

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/provider/nodestate"
)

// A Progress is how far the controller is with the Nodes that there are.
type Progress struct {
	// Nodes are those that vzones manages, in no order.
	Nodes []NodeProgress
	// Foreign is how many others there are.
	Foreign int
}

// A NodeProgress is how far the controller is with a Node.
type NodeProgress struct {
	// Node is as the cache has it, which keeps little of its status.
	Node *v1.Node
	// Pending reports whether it is not decided about, is being written, or waits for what a
	// vCenter answers.
	Pending bool
	// Unplaced is why it has no certain place, nil if it has one.
	Unplaced error
}

// Progress returns how far the controller is, and whether it has begun.
func (c *Controller) Progress() (Progress, bool) {
	var p Progress
	select {
	case <-c.running:
	default:
		return p, false
	}
	for _, n := range c.nodes.All() {
		outcome, err := c.outcomeOf(n)
		if outcome == condition.Foreign {
			p.Foreign++
			continue
		}
		p.Nodes = append(p.Nodes, NodeProgress{Node: n, Pending: c.isPending(n), Unplaced: err})
	}
	return p, true
}

func (c *Controller) isPending(n *v1.Node) bool {
	keepsLabels := c.labels.Load() != nil
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[n.UID]
	switch {
	case s == nil || s.node == nil || s.writing:
		return true
	case nodestate.IsUninitialized(n) || !keepsLabels:
		return false
	}
	return s.labels.recorded == nil || s.labels.waiting // recorded is set by the first decision
}
