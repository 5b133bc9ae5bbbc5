// Package nodecache is the cache of Nodes that the framework's controllers and ours share.
//
// It owns what is kept of each Node, which Nodes are hidden from the framework because they
// are somebody else's, the indexes by machine and by address, and the way to announce a
// Node again to the framework's node controller. It decides nothing about a Node and writes
// to none.
package nodecache

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// A Cache is a Node informer whose handlers can be called again for a Node that has not
// changed: see Announce. Its lister leaves out the Nodes of others.
type Cache struct {
	coreinformers.NodeInformer
	// shared and lister are what NodeInformer makes again each time that it is asked.
	shared  cache.SharedIndexInformer
	lister  corelisters.NodeLister
	foreign func(*v1.Node) bool
	// factory is the one that NodeInformer is of. A warm standby sets it before the
	// framework does.
	factory informers.SharedInformerFactory
	// started is closed by Start, once.
	started chan struct{}
	once    sync.Once

	mu       sync.Mutex
	handlers []cache.ResourceEventHandler
}

// New returns a cache whose lister leaves out the Nodes for which foreign reports true.
// Watch has to be called before anything else.
func New(foreign func(*v1.Node) bool) *Cache {
	return &Cache{foreign: foreign, started: make(chan struct{})}
}

// Watch makes the informer of a factory the one of Nodes. That of the factory it has
// already stays.
func (c *Cache) Watch(factory informers.SharedInformerFactory) {
	if c.factory == factory {
		return
	}
	c.factory, c.NodeInformer = factory, factory.Core().V1().Nodes()
	//nolint:forbidigo // the framework's SetInformers has no context
	log := klog.Background()
	// Asking for the informer now makes the factory start it.
	c.shared, c.lister = c.NodeInformer.Informer(), c.NodeInformer.Lister()
	if err := c.shared.SetTransform(slim); err != nil {
		log.Error(err, "Cannot leave out unneeded fields of Nodes; the cache takes more memory") // it was started before
	}
	if err := c.shared.AddIndexers(cache.Indexers{addressIndex: indexAddresses, machineIndex: indexMachines}); err != nil {
		log.Error(err, "Cannot index Nodes by their addresses and machines")
	}
}

// StartInformer starts the informer before the framework does.
func (c *Cache) StartInformer(stop <-chan struct{}) { c.factory.Start(stop) }

// Start notes that the framework has handed over its informers, which it does when this
// process leads.
func (c *Cache) Start() { c.once.Do(func() { close(c.started) }) }

// Started is closed by Start.
func (c *Cache) Started() <-chan struct{} { return c.started }

// IsStarted reports whether Started is closed. Until then no Node may be looked up.
func (c *Cache) IsStarted() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// All returns all Nodes, those of others too.
func (c *Cache) All() []*v1.Node {
	all, err := c.lister.List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache, it has no error to give
	}
	return all
}

// Get returns the Node of a name, be it somebody else's or not.
func (c *Cache) Get(name string) (*v1.Node, error) { return c.lister.Get(name) }

// Announce calls all handlers as if a Node were updated. The framework's node controller
// looks at a Node only when the informer announces it, or after an error with a delay that
// grows to a quarter of an hour and a rate that 300 waiting Nodes exhaust. What its Nodes
// wait for, the answer of a vCenter, does not change the Node.
func (c *Cache) Announce(node *v1.Node) {
	c.mu.Lock()
	handlers := c.handlers
	c.mu.Unlock()
	for _, h := range handlers {
		h.OnUpdate(node, node)
	}
}

// noteHandler remembers a handler for Announce.
func (c *Cache) noteHandler(h cache.ResourceEventHandler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = append(c.handlers[:len(c.handlers):len(c.handlers)], h)
}

// Informer returns the shared informer for the framework. Its handlers receive a Node that is not
// initialized only through Announce, once it can be initialized.
func (c *Cache) Informer() cache.SharedIndexInformer {
	return &announcing{SharedIndexInformer: c.shared, remember: c.noteHandler}
}

// Quiet returns the shared informer itself: its handlers are not called by Announce.
func (c *Cache) Quiet() cache.SharedIndexInformer { return c.shared }

// Lister returns the Nodes that are ours.
func (c *Cache) Lister() corelisters.NodeLister {
	return ownNodes{c.lister, c.foreign}
}
