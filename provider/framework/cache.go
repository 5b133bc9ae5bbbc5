package framework

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
)

// A Cache is a Node informer that can call the framework's handlers for an unchanged Node, see Announce.
type Cache struct {
	coreinformers.NodeInformer
	// shared and lister would be created by NodeInformer at each call.
	shared    cache.SharedIndexInformer
	lister    corelisters.NodeLister
	isForeign func(*v1.Node) bool
	started   chan struct{}
	startOnce sync.Once

	mu       sync.Mutex
	handlers []cache.ResourceEventHandler
}

// NewCache returns a cache.
func NewCache(isForeign func(*v1.Node) bool) *Cache {
	return &Cache{isForeign: isForeign, started: make(chan struct{})}
}

// Watch uses the Node informer of a factory. Call it once, before all other methods.
func (c *Cache) Watch(factory informers.SharedInformerFactory) {
	c.NodeInformer = factory.Core().V1().Nodes()
	//nolint:forbidigo // the framework's SetInformers has no context
	log := klog.Background()
	c.shared = c.NodeInformer.Informer()
	c.lister = c.NodeInformer.Lister()
	// SetTransform fails only after the informer was started.
	if err := c.shared.SetTransform(slim); err != nil {
		log.Error(err, "Cannot drop unused fields of Nodes; the cache uses more memory")
	}
	if err := c.shared.AddIndexers(cache.Indexers{addressIndex: indexAddresses, vmIndex: indexVMs}); err != nil {
		log.Error(err, "Cannot index Nodes by their addresses and VMs")
	}
}

// Start must be called once this process leads and Watch has returned.
func (c *Cache) Start() { c.startOnce.Do(func() { close(c.started) }) }

// AwaitStart waits for Start. It returns false if the context is done first.
func (c *Cache) AwaitStart(ctx context.Context) bool {
	select {
	case <-c.started:
		return true
	case <-ctx.Done():
		return false
	}
}

// Started returns a channel that Start closes.
func (c *Cache) Started() <-chan struct{} { return c.started }

// IsStarted reports whether Start was called. No Node can be read before.
func (c *Cache) IsStarted() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// All returns all Nodes, including foreign Nodes.
func (c *Cache) All() []*v1.Node {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		return nil
	}
	return nodes
}

// Has reports whether a Node still exists, and true before Start.
func (c *Cache) Has(node *v1.Node) bool {
	if !c.IsStarted() {
		return true
	}
	current, err := c.Get(node.Name)
	return err == nil && current.UID == node.UID
}

// Get returns the Node with a name, which may be foreign.
func (c *Cache) Get(name string) (*v1.Node, error) { return c.lister.Get(name) }

// Announce calls the handlers of Informer as if a Node had been updated. Only then does the running framework look at an
// uninitialized Node.
func (c *Cache) Announce(node *v1.Node) {
	c.mu.Lock()
	handlers := c.handlers
	c.mu.Unlock()
	for _, h := range handlers {
		h.OnUpdate(node, node)
	}
}

// Informer returns the framework's informer. Of uninitialized Nodes its handlers get no changes, only Announce.
func (c *Cache) Informer() cache.SharedIndexInformer {
	return &announcing{c.shared, c}
}

// SharedInformer returns the shared informer, which ignores Announce.
func (c *Cache) SharedInformer() cache.SharedIndexInformer { return c.shared }

// Lister returns a lister without foreign Nodes.
func (c *Cache) Lister() corelisters.NodeLister {
	return ownNodes{c.lister, c.isForeign}
}

type ownNodes struct {
	corelisters.NodeLister
	isForeign func(*v1.Node) bool
}

func (l ownNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	nodes, err := l.NodeLister.List(selector)
	if err != nil {
		return nil, err
	}
	ours := make([]*v1.Node, 0, len(nodes))
	for _, n := range nodes {
		if !l.isForeign(n) {
			ours = append(ours, n)
		}
	}
	return ours, nil
}

func (l ownNodes) Get(name string) (*v1.Node, error) {
	n, err := l.NodeLister.Get(name)
	if err == nil && l.isForeign(n) {
		return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
	}
	return n, err
}

type announcing struct {
	cache.SharedIndexInformer
	cache *Cache
}

func (s *announcing) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandler(s.register(h))
}

func (s *announcing) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, d time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithResyncPeriod(s.register(h), d)
}

func (s *announcing) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithOptions(s.register(h), o)
}

// register adds a handler for Announce, and returns a handler that ignores changes of uninitialized Nodes.
func (s *announcing) register(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	s.cache.mu.Lock()
	s.cache.handlers = append(s.cache.handlers[:len(s.cache.handlers):len(s.cache.handlers)], h)
	s.cache.mu.Unlock()
	// A late handler may have missed announcements, so it gets all existing Nodes.
	isLate := s.HasSynced()
	isUninitialized := func(object any) bool {
		n, ok := object.(*v1.Node)
		return ok && nodeinfo.IsUninitialized(n)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInitial bool) {
			if !isUninitialized(object) || isInitial && isLate {
				h.OnAdd(object, isInitial)
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			if !isUninitialized(newObj) {
				h.OnUpdate(oldObj, newObj)
			}
		},
		DeleteFunc: h.OnDelete,
	}
}

const (
	addressIndex = "address"
	// vmIndex contains a Node's UUID in each byte order, or NameKey if it has no UUID.
	vmIndex = "vm"
)

// ByAddress returns the Nodes that claim an address, which may be foreign.
func (c *Cache) ByAddress(address string) ([]*v1.Node, error) {
	return c.byIndex(addressIndex, address)
}

// ByVM returns the Nodes with a UUID, in either byte order, or with a nodeinfo.NameKey.
func (c *Cache) ByVM(key string) ([]*v1.Node, error) { return c.byIndex(vmIndex, key) }

func (c *Cache) byIndex(index, key string) ([]*v1.Node, error) {
	objects, err := c.shared.GetIndexer().ByIndex(index, key)
	if err != nil {
		return nil, err
	}
	nodes := make([]*v1.Node, 0, len(objects))
	for _, o := range objects {
		if n, ok := o.(*v1.Node); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

func indexAddresses(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	claimed := addresses.ClaimedBy(n)
	keys := make([]string, len(claimed))
	for i, a := range claimed {
		keys[i] = a.String()
	}
	return keys, nil
}

func indexVMs(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	id, err := nodeinfo.IdentityOf(n)
	if err != nil {
		return nil, nil //nolint:nilerr // the Node has no usable identity
	}
	if len(id.UUIDs) == 0 {
		return []string{nodeinfo.NameKey(n.Name)}, nil
	}
	keys := make([]string, len(id.UUIDs))
	for i, u := range id.UUIDs {
		keys[i] = u.String()
	}
	return keys, nil
}
