package nodes

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
)

// handlers enqueue a Node that comes, goes, or changes in a fact that decisions depend on. Heartbeats of
// kubelets enqueue nothing.
func (c *Controller) handlers() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, there bool) { c.changed(nil, nodeIn(o), there) },
		UpdateFunc: func(before, now any) {
			b, n := nodeIn(before), nodeIn(now)
			if b != nil && n != nil && b.UID != n.UID {
				c.changed(b, nil, true)
				b = nil
			}
			c.changed(b, n, false)
		},
		DeleteFunc: func(o any) { c.changed(nodeIn(o), nil, true) },
	}
}

// nodeIn returns the Node that a handler got, nil if it got none.
func nodeIn(o any) *v1.Node {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	n, _ := o.(*v1.Node)
	return n
}

// changed enqueues what follows from a change of a Node, which is nil before it comes and once it is
// gone. There reports whether it was there before this process led.
func (c *Controller) changed(b, n *v1.Node, there bool) {
	switch {
	case n == nil && b == nil:
	case n == nil:
		c.placer.NodeDeleted(b.UID)
		c.mu.Lock()
		delete(c.records, b.UID)
		c.mu.Unlock()
		c.queue.Add(itemOf(b)) // which forgets it
	case b == nil:
		if !there {
			c.placer.NodeChanged(nil, n)
		}
		c.queue.Add(itemOf(n))
		c.findConflictsSoon()
	default:
		c.updated(b, n)
		return
	}
	c.followChanged()
	c.nodesChanged()
}

func (c *Controller) updated(b, n *v1.Node) {
	c.placer.NodeChanged(b, n)
	if nodeinfo.IsUninitialized(b) && !nodeinfo.IsUninitialized(n) {
		c.mu.Lock()
		c.recordLocked(n.UID).initialized = time.Now()
		c.mu.Unlock()
		defer c.findConflictsSoon() // after it has been decided about
	}
	relevant := c.isRelevant(b, n)
	if relevant || isDecidedBy(b, n) || nodeinfo.IsUninitialized(n) && isInitializedBy(b, n) {
		c.queue.Add(itemOf(n))
	}
	if relevant {
		c.nodesChanged()
	}
	if relevant && c.followKey(b) != c.followKey(n) {
		c.followChanged()
	}
}

// followKey returns the key of the machine that the fleet follows for a Node, empty for none.
func (c *Controller) followKey(n *v1.Node) string {
	if c.placer.IsForeign(n) {
		return ""
	}
	id, err := c.placer.Statement(n)
	if err != nil {
		return ""
	}
	return machineKey(id)
}

// isRelevant reports whether a Node has changed in what says which machine it is, whether it
// is ours, whether it waits or is ready, or gives up an address: others may wait for that.
func (c *Controller) isRelevant(b, n *v1.Node) bool {
	return b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
		b.Status.NodeInfo.SystemUUID != n.Status.NodeInfo.SystemUUID ||
		nodeinfo.IsUninitialized(b) != nodeinfo.IsUninitialized(n) || nodeinfo.IsReady(b) != nodeinfo.IsReady(n) ||
		c.placer.IsForeign(b) != c.placer.IsForeign(n) || placement.Readdressed(b, n) && placement.Releases(b, n)
}

// isDecidedBy reports whether a Node has changed in what its labels, taints and condition are decided by, or in its addresses.
func isDecidedBy(b, n *v1.Node) bool {
	was, is := report.ReadyOf(b), report.ReadyOf(n)
	if was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message {
		return true
	}
	return placement.Readdressed(b, n) || !maps.Equal(b.Labels, n.Labels) || b.Annotations[nodeinfo.KeyLabels] != n.Annotations[nodeinfo.KeyLabels] || plan.IsTainted(b) != plan.IsTainted(n)
}

// isInitializedBy reports whether an uninitialized Node has changed in what it may wait for
// beside that: where it says that its machine is.
func isInitializedBy(b, n *v1.Node) bool { return !maps.Equal(b.Annotations, n.Annotations) }
