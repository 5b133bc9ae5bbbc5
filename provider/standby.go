package provider

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// A Standby has the fleet follow the machines of all Nodes in a process that waits to
// lead, and does nothing else: it writes to no Node and no Event.
type Standby struct{ provider *Provider }

// NewStandby prepares a standby. The factory has to be the one that SetInformers gets.
// It is to be called before anything else uses the provider.
func (p *Provider) NewStandby(factory informers.SharedInformerFactory) *Standby {
	p.watchNodes(factory)
	return &Standby{p}
}

// Run follows Nodes until this process leads, from when on the provider's Run does that,
// or the context is done.
func (s *Standby) Run(ctx context.Context) error {
	p := s.provider
	changed := make(chan struct{}, 1)
	informer := p.nodes.NodeInformer.Informer()
	registration, err := informer.AddEventHandler(p.onRelevantChange(changed))
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	p.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	r := &rounds{provider: p}
	tick := time.NewTicker(again)
	defer tick.Stop()
	for whole := false; ; {
		r.follow(p.allNodes(ctx), whole)
		whole = false
		select {
		case <-changed:
			select {
			case <-time.After(gather):
			case <-ctx.Done():
			}
		case <-tick.C:
			whole = true // where machines were found is of use after a takeover
		case <-p.ready:
			return nil
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}
