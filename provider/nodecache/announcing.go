package nodecache

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/nodestate"
)

// announcing is the shared informer, whose handlers the cache notes.
type announcing struct {
	cache.SharedIndexInformer
	// remember has Announce call a handler from now on.
	remember func(cache.ResourceEventHandler)
}

func (s *announcing) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandler(s.note(h))
}

func (s *announcing) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, d time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithResyncPeriod(s.note(h), d)
}

func (s *announcing) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithOptions(s.note(h), o)
}

// note remembers a handler for Announce, and returns it without what happens to a Node that is
// not initialized, but for its end: the framework would ask about it, get no answer and log
// that, for each Node and change.
func (s *announcing) note(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	s.remember(h)
	// Nodes are announced once they are read. A handler that comes later has missed that, and
	// gets those which are there.
	late := s.HasSynced()
	waits := func(object any) bool {
		n, ok := object.(*v1.Node)
		return ok && nodestate.IsUninitialized(n)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, there bool) {
			if !waits(object) || there && late {
				h.OnAdd(object, there)
			}
		},
		UpdateFunc: func(before, now any) {
			if !waits(now) {
				h.OnUpdate(before, now)
			}
		},
		DeleteFunc: h.OnDelete,
	}
}
