package nodes

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/absence"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// syncAbsence starts a search for a machine that is absent if the framework would delete its Node,
// so that there is an answer when it asks, and records what keeps the Node.
func (c *Controller) syncAbsence(ctx context.Context, n *v1.Node, s *state, states []inventory.State) time.Duration {
	is := c.checker.Confirm(states, n)
	if !is.Absent {
		c.checker.Drop(n.UID)
	}
	c.mu.Lock()
	s.absent, s.kept = is.Absent, is.KeptBy()
	c.mu.Unlock()
	switch {
	case is.Searching:
		return 0 // its end enqueues the Node
	case is.Kept == nil && is.Absent:
		delete(s.problems, aboutDeletion) // nothing is over: it is being deleted
		return 0
	case is.Kept == nil:
		return c.isOver(ctx, n, s, aboutDeletion, s.vcenter())
	}
	why := fmt.Errorf("the Node is not ready, and not deleted: %w", is.Kept)
	p := report.Problem{Key: absence.KeptKey(is.Kept), Reason: absence.ReasonNotDeleted, Text: report.Message(why), Detail: why.Error()}
	return c.isWrong(ctx, n, s, aboutDeletion, p, runningBeforeEvent)
}

// searchEnded enqueues a Node, since the search for its machine has a result.
func (c *Controller) searchEnded(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[node]; s != nil && s.node != nil {
		c.queue.Add(item{name: s.node.Name, uid: node})
	}
}
