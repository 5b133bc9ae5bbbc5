package nodes

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/absence"
	"vzones/vcenter/inventory"
)

// syncAbsence starts a search for a machine that is absent if the framework would delete its Node,
// so that there is an answer when it asks, and records what keeps the Node.
func (c *Controller) syncAbsence(n *v1.Node, s *state, states []inventory.State) time.Duration {
	is := c.checker.Confirm(states, n)
	if !is.Absent {
		c.checker.Drop(n.UID)
	}
	c.mu.Lock()
	s.absent = is.Absent
	c.mu.Unlock()
	switch {
	case is.Searching:
		return 0 // its end enqueues the Node
	case is.Kept == nil && is.Absent:
		c.drop(&s.kept) // nothing is over: it is being deleted
		return 0
	case is.Kept == nil:
		return c.isOver(&s.kept, n, s.vcenter())
	}
	why := fmt.Errorf("the Node is not ready, and not deleted: %w", is.Kept)
	of := problem{node: n, what: "Node is not deleted", err: why, event: absence.ReasonNotDeleted}
	return c.isWrong(&s.kept, of, absence.KeptKey(is.Kept), runningBeforeEvent)
}

// searchEnded enqueues a Node, since the search for its machine has a result.
func (c *Controller) searchEnded(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[node]; s != nil && s.node != nil {
		c.queue.Add(item{name: s.node.Name, uid: node})
	}
}
