package provider

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// wakingInformer is a Node informer whose handlers can be told again of a Node
// that has not changed. The framework's node controller looks at a Node only
// when the informer announces it, or after an error with a delay that grows to
// a quarter of an hour and a rate that 300 waiting Nodes exhaust. What its
// Nodes wait for, a vCenter's answer, is no change of the Node.
//
// Its lister leaves out the Nodes of others.
type wakingInformer struct {
	coreinformers.NodeInformer
	foreign func(*v1.Node) bool

	mu       sync.Mutex
	handlers []cache.ResourceEventHandler
}

// Informer returns the shared informer, noting the handlers added to it.
func (w *wakingInformer) Informer() cache.SharedIndexInformer {
	return &wakingShared{SharedIndexInformer: w.NodeInformer.Informer(), waking: w}
}

// Lister returns the Nodes that are ours.
func (w *wakingInformer) Lister() corelisters.NodeLister {
	return ownNodes{w.NodeInformer.Lister(), w.foreign}
}

// wake announces a Node to all handlers as updated.
func (w *wakingInformer) wake(node *v1.Node) {
	w.mu.Lock()
	handlers := w.handlers
	w.mu.Unlock()
	for _, h := range handlers {
		h.OnUpdate(node, node)
	}
}

func (w *wakingInformer) note(h cache.ResourceEventHandler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers = append(w.handlers[:len(w.handlers):len(w.handlers)], h)
}

type wakingShared struct {
	cache.SharedIndexInformer
	waking *wakingInformer
}

func (s *wakingShared) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.waking.note(h)
	return s.SharedIndexInformer.AddEventHandler(h)
}

func (s *wakingShared) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, d time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	s.waking.note(h)
	return s.SharedIndexInformer.AddEventHandlerWithResyncPeriod(h, d)
}

func (s *wakingShared) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	s.waking.note(h)
	return s.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
}
