package nodes

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/events"
	"vzones/provider/nodestate"
	"vzones/provider/placement"
)

// Run tells the fleet which machines to follow, wakes the framework's node
// controller for Nodes that can be initialised now, notes on Nodes where their
// machines are, has absences confirmed, and explains in Events what a person has to act on. It returns
// nil when the context is done.
func (c *Controller) Run(ctx context.Context) error {
	select {
	case <-c.nodes.Started():
	case <-ctx.Done():
		return nil
	}
	recorder, end := events.Record(ctx, c.client, "")
	defer end()

	changed := make(chan struct{}, 1)
	informer := c.nodes.Quiet()
	registration, err := informer.AddEventHandler(c.onRelevantChange(changed))
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	notes := newRecords(c.client.CoreV1().Nodes())
	told := newTeller(c.fleet, recorder)
	var writers sync.WaitGroup
	writers.Go(func() { notes.run(ctx) })
	writers.Go(func() { told.run(ctx) })
	writers.Go(func() { c.checker.Run(ctx) })
	defer writers.Wait()
	r := &rounds{
		c:       c,
		teller:  told,
		records: notes,
		nodes:   map[types.UID]*attended{},
	}
	r.run(ctx, changed, c.fleet.Subscribe())
	return nil
}

// onRelevantChange puts a token into changed when a Node comes, goes, or
// changes in what says which machine it is, whether it is ours, whether it waits or is
// ready, or gives up an address. Kubelets report far more often than that.
func (c *Controller) onRelevantChange(changed chan<- struct{}) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, there bool) {
			if n, ok := o.(*v1.Node); ok && !there {
				c.placer.NodeAdded(n)
			}
			notify(changed)
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if n, ok := o.(*v1.Node); ok {
				c.placer.NodeDeleted(n)
			}
			notify(changed)
		},
		UpdateFunc: func(before, now any) {
			b, ok1 := before.(*v1.Node)
			n, ok2 := now.(*v1.Node)
			moved := ok1 && ok2 && placement.Readdressed(b, n)
			if ok1 && ok2 {
				c.placer.NodeUpdated(b, n)
			}
			if !ok1 || !ok2 || b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
				b.Status.NodeInfo.SystemUUID != n.Status.NodeInfo.SystemUUID ||
				nodestate.IsUninitialized(b) != nodestate.IsUninitialized(n) || nodestate.IsReady(b) != nodestate.IsReady(n) || c.placer.IsForeign(b) != c.placer.IsForeign(n) || moved && placement.Releases(b, n) {
				notify(changed)
			}
		},
	}
}

// notify makes a channel with room for one value ready.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it is
	}
}
