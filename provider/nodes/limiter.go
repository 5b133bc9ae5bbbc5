package nodes

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
)

// A limiter limits the rate of one kind of Event or patch. Nodes leave its queue as soon as they need no slot,
// so that a short outage of many Nodes delays no later Event.
type limiter struct {
	limit  *rate.Limiter
	queue  workqueue.TypedInterface[item]
	store  *Store
	slotOf func(*nodeRecord) *slot
}

// slot is guarded by the store's lock. At most one field is true.
type slot struct{ isQueued, isGranted bool }

func newLimiter(limit *rate.Limiter, store *Store, slotOf func(*nodeRecord) *slot) *limiter {
	return &limiter{limit, workqueue.NewTyped[item](), store, slotOf}
}

func (l *limiter) acquire(n *v1.Node, r *nodeRecord) bool {
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

func (l *limiter) release(r *nodeRecord) {
	l.store.Lock()
	defer l.store.Unlock()
	*l.slotOf(r) = slot{}
}

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

func (l *limiter) isQueued(i item) bool {
	l.store.Lock()
	defer l.store.Unlock()
	r := l.store.records[i.uid]
	return r != nil && l.slotOf(r).isQueued
}

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

type limiters struct{ events, annotations, labels, conditions, taints *limiter }

func newLimiters(store *Store) limiters {
	return limiters{
		events:      newLimiter(rate.NewLimiter(eventsPerSecond, eventsPerSecond), store, func(r *nodeRecord) *slot { return &r.eventSlot }),
		annotations: newLimiter(rate.NewLimiter(patchesPerSecond, 1), store, func(r *nodeRecord) *slot { return &r.annotationPatches.slot }),
		labels:      newLimiter(rate.NewLimiter(patchesPerSecond, patchesPerSecond), store, func(r *nodeRecord) *slot { return &r.labelPatches.slot }),
		conditions:  newLimiter(rate.NewLimiter(patchesPerSecond, 1), store, func(r *nodeRecord) *slot { return &r.conditionPatches.slot }),
		taints:      newLimiter(rate.NewLimiter(patchesPerSecond, patchesPerSecond), store, func(r *nodeRecord) *slot { return &r.taintPatches.slot }),
	}
}

func (l *limiters) run(ctx context.Context, requeue func(item)) {
	var group sync.WaitGroup
	for _, lim := range []*limiter{l.events, l.annotations, l.labels, l.conditions, l.taints} {
		group.Go(func() { lim.run(ctx, requeue) })
	}
	group.Wait()
}
