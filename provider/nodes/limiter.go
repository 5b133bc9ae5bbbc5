package nodes

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
)

// A limiter limits the rate of one kind of Event or patch for all Nodes. A Node without a slot is queued, and leaves the
// queue as soon as it needs none, so a short outage of many Nodes delays no later Event.
type limiter struct {
	limit *rate.Limiter
	queue workqueue.TypedInterface[item]
	store *Store
	// slotOf returns the slot of this limiter in a record.
	slotOf func(*record) *slot
}

// slot is the state of a Node at a limiter, guarded by the store's lock. At most one of the fields is true.
type slot struct{ isQueued, isGranted bool }

func newLimiter(limit *rate.Limiter, store *Store, slotOf func(*record) *slot) *limiter {
	return &limiter{limit, workqueue.NewTyped[item](), store, slotOf}
}

// acquire reports whether a Node gets a slot, and uses it up. Otherwise it queues the Node, whose sync is requeued once the
// slot is granted.
func (l *limiter) acquire(n *v1.Node, r *record) bool {
	l.store.Lock()
	defer l.store.Unlock()
	s := l.slotOf(r)
	if s.isGranted || !s.isQueued && l.limit.Allow() {
		*s = slot{}
		return true
	}
	if !s.isQueued {
		s.isQueued = true
		l.queue.Add(itemOf(n))
	}
	return false
}

// release gives up the slot of a Node that does not need it.
func (l *limiter) release(r *record) {
	l.store.Lock()
	defer l.store.Unlock()
	*l.slotOf(r) = slot{}
}

// run grants slots to the queued Nodes at the limited rate until the context is done, and calls requeue for each.
func (l *limiter) run(ctx context.Context, requeue func(item)) {
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	for {
		i, isShutDown := l.queue.Get()
		if isShutDown {
			return
		}
		if l.isQueued(i) && l.limit.Wait(ctx) == nil && l.grant(i) {
			requeue(i)
		}
		l.queue.Done(i)
	}
}

// isQueued reports whether a Node of the queue still needs a slot.
func (l *limiter) isQueued(i item) bool {
	l.store.Lock()
	defer l.store.Unlock()
	r := l.store.records[i.uid]
	return r != nil && l.slotOf(r).isQueued
}

// grant grants a Node a slot if it still needs one.
func (l *limiter) grant(i item) bool {
	l.store.Lock()
	defer l.store.Unlock()
	r := l.store.records[i.uid]
	if r == nil || !l.slotOf(r).isQueued {
		return false
	}
	*l.slotOf(r) = slot{isGranted: true}
	return true
}

// limiters are the limiter of Events and those of the three kinds of patches.
type limiters struct{ events, annotations, labels, conditions *limiter }

func newLimiters(store *Store) limiters {
	return limiters{
		events:      newLimiter(rate.NewLimiter(eventsPerSecond, eventsPerSecond), store, func(r *record) *slot { return &r.event }),
		annotations: newLimiter(rate.NewLimiter(patchesPerSecond, 1), store, func(r *record) *slot { return &r.annotation.slot }),
		labels:      newLimiter(rate.NewLimiter(patchesPerSecond, patchesPerSecond), store, func(r *record) *slot { return &r.labelPatches.slot }),
		conditions:  newLimiter(rate.NewLimiter(patchesPerSecond, 1), store, func(r *record) *slot { return &r.condition.slot }),
	}
}

// run runs the limiters until the context is done.
func (l *limiters) run(ctx context.Context, requeue func(item)) {
	var group sync.WaitGroup
	for _, one := range []*limiter{l.events, l.annotations, l.labels, l.conditions} {
		group.Go(func() { one.run(ctx, requeue) })
	}
	group.Wait()
}
