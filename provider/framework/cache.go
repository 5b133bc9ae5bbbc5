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

// A Cache is a Node informer whose handlers can be called again for a Node that has not
// changed: see Announce. Its lister leaves out the Nodes of others.
type Cache struct {
	coreinformers.NodeInformer
	// shared and lister are those of NodeInformer, which would make new ones at each call.
	shared  cache.SharedIndexInformer
	lister  corelisters.NodeLister
	foreign func(*v1.Node) bool
	// started is closed by Start, once.
	started chan struct{}
	once    sync.Once

	mu       sync.Mutex
	handlers []cache.ResourceEventHandler
}

// NewCache returns a cache whose lister leaves out the Nodes for which foreign reports true.
// Watch has to be called before anything else.
func NewCache(foreign func(*v1.Node) bool) *Cache {
	return &Cache{foreign: foreign, started: make(chan struct{})}
}

// Watch uses the Node informer of a factory. Call it once.
func (c *Cache) Watch(factory informers.SharedInformerFactory) {
	c.NodeInformer = factory.Core().V1().Nodes()
	//nolint:forbidigo // the framework's SetInformers has no context
	log := klog.Background()
	// Asking for the informer now makes the factory start it.
	c.shared = c.NodeInformer.Informer()
	c.lister = c.NodeInformer.Lister()
	// SetTransform fails only after the informer was started.
	if err := c.shared.SetTransform(slim); err != nil {
		log.Error(err, "Cannot leave out unneeded fields of Nodes; the cache takes more memory")
	}
	if err := c.shared.AddIndexers(cache.Indexers{addressIndex: indexAddresses, machineIndex: indexMachines}); err != nil {
		log.Error(err, "Cannot index Nodes by their addresses and machines")
	}
}

// Start notes that the framework has handed over its informers, which it does when this
// process leads.
func (c *Cache) Start() { c.once.Do(func() { close(c.started) }) }

// AwaitStart returns after Start, and reports whether that is before the context is done.
func (c *Cache) AwaitStart(ctx context.Context) bool {
	select {
	case <-c.started:
		return true
	case <-ctx.Done():
		return false
	}
}

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

// Has reports whether a Node is still there, and no other one of its name. Before Start it returns true, because
// the Nodes are not known yet.
func (c *Cache) Has(node *v1.Node) bool {
	if !c.IsStarted() {
		return true
	}
	now, err := c.Get(node.Name)
	return err == nil && now.UID == node.UID
}

// Get returns the Node of a name, be it somebody else's or not.
func (c *Cache) Get(name string) (*v1.Node, error) { return c.lister.Get(name) }

// Announce calls the handlers of Informer as if a Node were updated. The framework's node controller looks at a
// Node only after a change of that Node, or after an error, with a delay that grows to a quarter of an hour and
// a rate limit that 300 waiting Nodes exhaust. An answer of a vCenter, for which Nodes wait, changes no Node.
func (c *Cache) Announce(node *v1.Node) {
	c.mu.Lock()
	handlers := c.handlers
	c.mu.Unlock()
	for _, h := range handlers {
		h.OnUpdate(node, node)
	}
}

// Informer returns the shared informer for the framework. Its handlers receive a Node that is not
// initialized only through Announce, once it can be initialized.
func (c *Cache) Informer() cache.SharedIndexInformer {
	return &announcing{c.shared, c}
}

// Quiet returns the shared informer itself: its handlers are not called by Announce.
func (c *Cache) Quiet() cache.SharedIndexInformer { return c.shared }

// Lister returns the Nodes that are ours.
func (c *Cache) Lister() corelisters.NodeLister {
	return ownNodes{c.lister, c.foreign}
}

// ownNodes is a lister without the Nodes of others. Otherwise the framework would copy labels between the beta
// and the stable keys of those Nodes, and remove its shutdown taint, whatever the provider answers.
type ownNodes struct {
	corelisters.NodeLister
	foreign func(*v1.Node) bool
}

// List returns the Nodes that are ours.
func (l ownNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := l.NodeLister.List(selector)
	if err != nil {
		return nil, err
	}
	own := make([]*v1.Node, 0, len(all))
	for _, n := range all {
		if !l.foreign(n) {
			own = append(own, n)
		}
	}
	return own, nil
}

// Get returns a Node that is ours. Another is not found.
func (l ownNodes) Get(name string) (*v1.Node, error) {
	n, err := l.NodeLister.Get(name)
	if err == nil && l.foreign(n) {
		return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
	}
	return n, err
}

// announcing is the shared informer, whose handlers the cache notes.
type announcing struct {
	cache.SharedIndexInformer
	of *Cache
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

// note remembers a handler for Announce, and returns a handler that passes on the changes of initialized Nodes
// and all deletions. After a change of another Node the framework would ask, get no answer, and log that.
func (s *announcing) note(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	s.of.mu.Lock()
	s.of.handlers = append(s.of.handlers[:len(s.of.handlers):len(s.of.handlers)], h)
	s.of.mu.Unlock()
	// Nodes may have been announced once the informer has read them. A handler that is added
	// later gets all that are there, since it may have missed that.
	late := s.HasSynced()
	waits := func(object any) bool {
		n, ok := object.(*v1.Node)
		return ok && nodeinfo.IsUninitialized(n)
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

const (
	// addressIndex is the informer's index of all Nodes by the addresses that they
	// claim. It changes with a Node's addresses, which is seldom.
	addressIndex = "vzones/address"
	// machineIndex is the informer's index of all Nodes by what may say which machine they
	// run on: each form of the UUID, or the name of a Node without one.
	machineIndex = "vzones/machine"
)

// ByAddress returns the Nodes that claim an address, those of others too.
func (c *Cache) ByAddress(address string) ([]*v1.Node, error) {
	return c.byIndex(addressIndex, address)
}

// ByMachine returns the Nodes that may run on a machine by one form of its UUID, or by a
// nodeinfo.NameKey.
func (c *Cache) ByMachine(key string) ([]*v1.Node, error) { return c.byIndex(machineIndex, key) }

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

// indexAddresses is the function of addressIndex.
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

// indexMachines is the function of machineIndex.
func indexMachines(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	id, err := nodeinfo.IdentityOf(n)
	if err != nil {
		return nil, nil //nolint:nilerr // it has no machine, or is somebody else's
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
