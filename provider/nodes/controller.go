// Package nodes contains the controller of Nodes.
//
// It does all writes to Nodes except the framework's. It announces a Node to the framework when the Node can
// be initialized, but never initializes or deletes a Node.
//
// One goroutine processes one work queue and makes all decisions. Requests to the API server and searches
// for absent VMs run in other goroutines and requeue the Node. An item is a Node, or a job about all Nodes:
//
//	a Node changed                             → syncNode
//	a vCenter's state changed                  → enqueueAffected: syncNode for the Nodes that it affects
//	a Node was added, deleted, or changed VMs  → watchVMs, requeueDependents: syncNode for the Nodes that it affects
//	a Node stopped reporting, or reports again → findPartitions
//	every minute                               → resyncNodes: syncNode for each Node, findPartitions; logSummary
package nodes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"vzones/config"
	"vzones/provider/framework"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// A Controller manages the Nodes of a store.
type Controller struct {
	fleet   Fleet
	placer  placer
	checker *placement.Checker
	store   *Store
	nodes   *framework.Cache
	client  kubernetes.Interface

	// running is closed once Run has set the fields below, stopped after its last decision.
	running, stopped   chan struct{}
	queue              workqueue.TypedDelayingInterface[item]
	events             events
	limiters           limiters
	writer             *writer
	passes             passes
	lastSummary        summary
	lastOtherProviders otherProviders

	// labeler is nil until KeepLabels runs. Without it, the controller writes neither labels nor conditions.
	labeler atomic.Pointer[labeler]
}

// New returns a controller of the Nodes in a store.
func New(fleet Fleet, store *Store, checker *placement.Checker, client kubernetes.Interface) *Controller {
	return &Controller{
		fleet: fleet, placer: store.Placer(), checker: checker, store: store, nodes: store.Cache(), client: client,
		running: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// Run manages Nodes until the context is done. Call it once.
func (c *Controller) Run(ctx context.Context) error {
	if !c.nodes.AwaitStart(ctx) {
		return nil
	}
	recorder, end := report.NewRecorder(ctx, c.client, "")
	defer end()
	c.queue = workqueue.NewTypedDelayingQueue[item]()
	defer c.queue.ShutDown()
	c.store.Lock()
	c.store.queue = c.queue
	c.store.Unlock()
	c.limiters = newLimiters(c.store)
	c.events = events{recorder, c.limiters.events, c.checker}
	c.writer = &writer{client: c.client, store: c.store, limiters: c.limiters, enqueue: c.queue.Add}
	informer := c.nodes.SharedInformer()
	registration, err := informer.AddEventHandler(c.handlers())
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	// Subscribe before the first decision, so that no change is missed.
	changes := c.fleet.Subscribe()
	close(c.running)
	defer close(c.stopped)
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() {
		c.checker.Run(ctx, func(node types.UID) {
			c.store.Lock()
			defer c.store.Unlock()
			c.enqueueLocked(node)
		})
	})
	g.Go(func() { c.enqueueChanges(ctx, changes) })
	g.Go(func() { c.limiters.run(ctx, c.queue.Add) })
	defer c.writer.requests.Wait()
	for c.processNext(ctx) {
	}
	return nil
}

// Fleet reads the vCenters.
type Fleet interface {
	States() []inventory.State
	// Follow replaces the watched VMs.
	Follow([]inventory.Identity)
	// Subscribe returns a channel that is notified after each change of a state.
	Subscribe() <-chan struct{}
	// Probe requests an answer of a vCenter: its state soon gets a new LastContact or an error.
	Probe(vcenter string)
	// ReadTags requests a read of a vCenter's tags. Subscribers are notified even after an error.
	ReadTags(vcenter string)
}

type placer interface {
	// ReleaseShown releases the parts of a reservation that the Node shows.
	ReleaseShown(*v1.Node)

	IsForeign(*v1.Node) bool
	OtherProvider([]inventory.State, *v1.Node) string
	ReportedIdentity(*v1.Node) (inventory.Identity, error)

	Observe([]inventory.State, *v1.Node) *inventory.VM
	// Join decides about an uninitialized Node.
	Join(*v1.Node) (*placement.Decision, error)
	Decide(*v1.Node) *placement.Decision
	Topology() *config.Topology
}
