package nodes

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"vzones/topology/signal"
)

// A Standby has the fleet follow the machines of all Nodes in a process that waits to
// lead, and does nothing else: it writes to no Node and no Event.
type Standby struct{ c *Controller }

// NewStandby prepares a standby. The factory has to be the one that the provider's
// SetInformers gets. It is to be called before anything else uses the controller.
func (c *Controller) NewStandby(factory informers.SharedInformerFactory) *Standby {
	c.nodes.Watch(factory)
	return &Standby{c}
}

// Run follows Nodes until this process leads, from when on the controller's Run does that,
// or the context is done.
func (s *Standby) Run(ctx context.Context) error {
	changed := signal.New() // from the handlers
	informer := s.c.nodes.Quiet()
	registration, err := informer.AddEventHandler(s.c.standbyHandlers(changed.Notify))
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	s.c.nodes.StartInformer(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	var following interest
	tick := time.NewTicker(resyncEvery)
	defer tick.Stop()
	for whole := false; ; {
		following.update(s.c.fleet, s.c.placer, s.c.nodes.All(), whole)
		whole = false
		select {
		case <-changed:
			select {
			case <-time.After(gather):
			case <-ctx.Done():
			}
		case <-tick.C:
			whole = true // where machines were found is of use after a takeover
		case <-s.c.nodes.Started():
			return nil
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}
