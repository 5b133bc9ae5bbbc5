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

// note remembers a handler for Announce, and returns one that passes on to it what happens to
// initialized Nodes, and the deletion of any. For another Node the framework would ask, get no
// answer and log that, after each change.
func (s *announcing) note(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	s.remember(h)
	// Nodes may have been announced once the informer has read them. A handler that is added
	// later gets all that are there, since it may have missed that.
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
