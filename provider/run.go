package provider

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
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
	// It outlives the writers, which would otherwise complain when the context is done.
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: p.client.CoreV1().Events("")})

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
	events := newTeller(p.fleet, broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "vzones"}))
	var writers sync.WaitGroup
	writers.Go(func() { notes.run(ctx) })
	writers.Go(func() { events.run(ctx) })
	writers.Go(func() { p.confirmations.run(ctx) })
	defer writers.Wait()
	r := &rounds{
		provider: p,
		teller:   events,
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
