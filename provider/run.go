package provider

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/events"
)

// Run tells the fleet which machines to follow, wakes the framework's node
// controller for Nodes that can be initialised now, notes on Nodes where their
// machines are, has absences confirmed, and explains in Events what a person has to act on. It returns
// nil when the context is done.
func (p *Provider) Run(ctx context.Context) error {
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil
	}
	recorder, end := events.Record(ctx, p.client, "")
	defer end()

	changed := make(chan struct{}, 1)
	informer := p.nodes.NodeInformer.Informer()
	registration, err := informer.AddEventHandler(p.onRelevantChange(changed))
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	notes := newRecords(p.client.CoreV1().Nodes())
	told := newTeller(p.fleet, recorder)
	var writers sync.WaitGroup
	writers.Go(func() { notes.run(ctx) })
	writers.Go(func() { told.run(ctx) })
	writers.Go(func() { p.confirmations.run(ctx) })
	defer writers.Wait()
	r := &rounds{
		provider: p,
		teller:   told,
		records:  notes,
		nodes:    map[types.UID]*attended{},
	}
	r.run(ctx, changed, p.fleet.Subscribe())
	return nil
}

// onRelevantChange puts a token into changed when a Node comes, goes, or
// changes in what says which machine it is, whether it is ours, whether it waits or is
// ready, or gives up an address. Kubelets report far more often than that.
func (p *Provider) onRelevantChange(changed chan<- struct{}) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, there bool) {
			if n, ok := o.(*v1.Node); ok && !there && p.leads() {
				p.twins.arrive(n)
			}
			token(changed)
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if n, ok := o.(*v1.Node); ok {
				p.twins.forget(n.UID)
			}
			token(changed)
		},
		UpdateFunc: func(before, now any) {
			b, ok1 := before.(*v1.Node)
			n, ok2 := now.(*v1.Node)
			moved := ok1 && ok2 && readdressed(b, n)
			if moved {
				p.grants.shown(n)
			}
			if ok1 && ok2 {
				p.twins.update(b, n, p.leads())
			}
			if !ok1 || !ok2 || b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
				b.Status.NodeInfo.SystemUUID != n.Status.NodeInfo.SystemUUID ||
				isUninitialized(b) != isUninitialized(n) || isReady(b) != isReady(n) || p.isForeign(b) != p.isForeign(n) || moved && releases(b, n) {
				token(changed)
			}
		},
	}
}
