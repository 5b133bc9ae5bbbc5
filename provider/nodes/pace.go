package nodes

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
)

// A pace limits how often something is done about Nodes. A Node whose turn has not come waits in a line, and leaves it if
// there is nothing to do about it any more, so an outage that is over leaves nothing to wait for.
type pace struct {
	limit *rate.Limiter
	line  workqueue.TypedInterface[item]
	store *Store
	// turnOf returns the turn at this pace in a record.
	turnOf func(*record) *turn
}

// A turn is a Node's at a pace. The store's lock guards it.
type turn struct {
	// waits reports whether the Node is in the line, has whether its turn has come.
	waits, has bool
}

func newPace(limit *rate.Limiter, store *Store, turnOf func(*record) *turn) *pace {
	return &pace{limit, workqueue.NewTyped[item](), store, turnOf}
}

// take reports whether it is a Node's turn, and ends the turn. Otherwise the Node waits in the line, and is decided about
// again when its turn has come.
func (p *pace) take(n *v1.Node, r *record) bool {
	p.store.Lock()
	defer p.store.Unlock()
	t := p.turnOf(r)
	if t.has || !t.waits && p.limit.Allow() {
		*t = turn{}
		return true
	}
	if !t.waits {
		t.waits = true
		p.line.Add(itemOf(n))
	}
	return false
}

// leave ends the wait of a Node about which there is nothing to do any more.
func (p *pace) leave(r *record) {
	p.store.Lock()
	defer p.store.Unlock()
	*p.turnOf(r) = turn{}
}

// serve gives the Nodes of the line their turns until the context is done. It enqueues each Node whose turn has come.
func (p *pace) serve(ctx context.Context, enqueue func(item)) {
	defer context.AfterFunc(ctx, p.line.ShutDown)()
	for {
		i, isShutDown := p.line.Get()
		if isShutDown {
			return
		}
		if p.isWaiting(i) && p.limit.Wait(ctx) == nil && p.give(i) {
			enqueue(i)
		}
		p.line.Done(i)
	}
}

// isWaiting reports whether a Node of the line still waits.
func (p *pace) isWaiting(i item) bool {
	p.store.Lock()
	defer p.store.Unlock()
	r := p.store.records[i.uid]
	return r != nil && p.turnOf(r).waits
}

// give gives a Node its turn if it still waits.
func (p *pace) give(i item) bool {
	p.store.Lock()
	defer p.store.Unlock()
	r := p.store.records[i.uid]
	if r == nil || !p.turnOf(r).waits {
		return false
	}
	*p.turnOf(r) = turn{has: true}
	return true
}

// paces are those of all that is done about Nodes.
type paces struct{ events, annotations, labels, conditions *pace }

func newPaces(store *Store) paces {
	return paces{
		events:      newPace(rate.NewLimiter(eventsPerSecond, eventsPerSecond), store, func(r *record) *turn { return &r.event }),
		annotations: newPace(rate.NewLimiter(patchesPerSecond, 1), store, func(r *record) *turn { return &r.annotation.turn }),
		labels:      newPace(rate.NewLimiter(patchesPerSecond, patchesPerSecond), store, func(r *record) *turn { return &r.labelPatches.turn }),
		conditions:  newPace(rate.NewLimiter(patchesPerSecond, 1), store, func(r *record) *turn { return &r.condition.turn }),
	}
}

// serve gives Nodes their turns until the context is done.
func (p *paces) serve(ctx context.Context, enqueue func(item)) {
	var all sync.WaitGroup
	for _, one := range []*pace{p.events, p.annotations, p.labels, p.conditions} {
		all.Go(func() { one.serve(ctx, enqueue) })
	}
	all.Wait()
}
