package nodes

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
)

// Reasons of Events about the out-of-service taint.
const (
	reasonOutOfService = "OutOfServiceTaintAdded"
	reasonInService    = "OutOfServiceTaintRemoved"
)

const outOfServiceTaint = v1.TaintNodeOutOfService + "=" + nodeinfo.VMGone + ":" + string(v1.TaintEffectNoExecute)

func isOutOfService(n *v1.Node) bool {
	taint, _ := nodeinfo.OutOfServiceTaint(n)
	return taint != nil
}

// syncOutOfService writes with the resource version, so that a Node that became ready is not tainted.
func (c *Controller) syncOutOfService(ctx context.Context, n *v1.Node, r *nodeRecord, wanted placement.TaintAction, evidence string) time.Duration {
	var action plan.Action
	var reason, text string
	taint, isOurs := nodeinfo.OutOfServiceTaint(n)
	switch {
	case wanted == placement.AddTaint && taint == nil:
		action = plan.ActionOutOfService
		reason = reasonOutOfService
		text = "taint " + outOfServiceTaint + " is added, so that volumes are detached before the Node is deleted: " + evidence
	case wanted == placement.RemoveTaint && isOurs:
		action = plan.ActionInService
		reason = reasonInService
		text = "taint " + outOfServiceTaint + " is removed: " + evidence
	default:
		c.limiters.taints.release(r)
		return 0
	}
	log := r.log(ctx)
	return c.writer.send(ctx, n, r, &r.taintPatches, c.limiters.taints, patch{
		description: "the out-of-service taint", kind: types.MergePatchType, content: string(action), body: plan.OutOfServicePatch(n, action, time.Now()),
		written: func() {
			if l := c.labeler.Load(); l != nil {
				c.store.Lock()
				l.writes[action]++
				c.store.Unlock()
			}
			c.events.recorder.Event(n, v1.EventTypeNormal, reason, text)
			log.Info("Wrote the out-of-service taint of the Node", "node", klog.KObj(n), "reason", reason, "text", quote.Line(text))
		},
	})
}

// removeFormerTaint removes our taint from a Node that nodes.selector excludes.
func (c *Controller) removeFormerTaint(ctx context.Context, n *v1.Node) time.Duration {
	c.store.Lock()
	r := c.store.record(n)
	c.store.Unlock()
	if r.decision == nil {
		r.decision = &placement.Decision{}
	}
	return c.syncOutOfService(ctx, n, r, placement.RemoveTaint, "nodes.selector excludes the Node")
}
