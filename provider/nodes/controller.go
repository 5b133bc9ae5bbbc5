// Package nodes is the one controller of Nodes.
//
// It owns what is written to them beside the framework: the annotations with the location
// of their machines, topology labels, the taint of drift, and Events. It has the fleet follow
// the machines of all Nodes, and announces a Node to the framework once it can be
// initialized. What is decided is in the packages it calls: placement says where a Node is,
// report what is wrong with it, absence whether it may be deleted, and plan what its
// labels have to be. It never initializes a Node, never deletes one, never touches a label
// that the configuration does not name and it did not write, and writes no label by what a
// vCenter said more than two seconds ago.
//
// One goroutine takes items from one work queue and makes all decisions, so that each Node's
// state has one owner. Requests to the API server and searches of vCenters run beside it and
// put the Node back into the queue. An item is a Node, or something about all of them:
//
//	handlers     a Node has changed          → syncNode
//	fleet        a vCenter's state is new    → observe: syncNode for each Node concerned
//	a Node comes, goes, or frees something   → follow, recheck: syncNode for those it concerns
//	a minute                                 → resync: syncNode for each Node; logSum
package nodes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"vzones/provider/absence"
	"vzones/provider/nodecache"
	"vzones/provider/nodestate"
	"vzones/provider/report"
)

// A Controller manages the Nodes of a placer.
type Controller struct {
	fleet   Fleet
	placer  placer
	checker *absence.Checker
	nodes   *nodecache.Cache
	client  kubernetes.Interface

	// running is closed when queue and what is below it are set, and stopped when nothing is
	// decided any more, by Run.
	running, stopped chan struct{}
	queue            workqueue.TypedDelayingInterface[item]
	// events records Events about Nodes, at the pace of eventPace.
	events    record.EventRecorder
	eventPace *rate.Limiter
	// annotationPace limits the annotations, and searchPace the searches outside of the configured
	// datacenters.
	annotationPace, searchPace *rate.Limiter
	// requests are those to the API server and to vCenters that are under way.
	requests sync.WaitGroup
	passes   passes
	// logged is the sum that was logged last. It belongs to the goroutine that decides.
	logged sum

	// labels is nil unless labels are written.
	labels atomic.Pointer[labeler]

	mu sync.Mutex
	// searchesOutside reports whether a machine is being searched for outside of the configured
	// datacenters. There is one such search at a time.
	searchesOutside bool
	states          map[types.UID]*state
}

// New returns a controller that does nothing until Run.
func New(fleet Fleet, placer placer, checker *absence.Checker, client kubernetes.Interface) *Controller {
	return &Controller{
		fleet: fleet, placer: placer, checker: checker, nodes: placer.NodeCache(), client: client,
		running: make(chan struct{}), stopped: make(chan struct{}), states: map[types.UID]*state{},
	}
}

// Run manages Nodes from when the framework has handed over its informers until the
// context is done. It is to be called once.
func (c *Controller) Run(ctx context.Context) error {
	select {
	case <-c.nodes.Started():
	case <-ctx.Done():
		return nil
	}
	recorder, end := report.Record(ctx, c.client, "")
	defer end()
	c.queue = workqueue.NewTypedDelayingQueue[item]()
	defer c.queue.ShutDown()
	c.events, c.eventPace = recorder, rate.NewLimiter(eventsPerSecond, eventsPerSecond)
	c.annotationPace, c.searchPace = rate.NewLimiter(patchesPerSecond, 1), rate.NewLimiter(searchesPerSecond, searchesPerSecond)
	informer := c.nodes.Quiet()
	registration, err := informer.AddEventHandler(c.handlers())
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	// Before the first Node is decided about, so that no change is missed.
	changes := c.fleet.Subscribe()
	c.queue.Add(item{job: followNodes})
	c.queue.Add(item{job: resyncNodes})
	c.queue.AddAfter(item{job: sumNodes}, firstSum)
	close(c.running)
	defer close(c.stopped) // after all that follows
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() { c.checker.Run(ctx, c.searchEnded) })
	g.Go(func() { c.notifyOf(ctx, changes) })
	defer c.requests.Wait()
	for c.next(ctx) {
	}
	return nil
}

// notifyOf enqueues what follows from changes of the fleet until the context is done.
func (c *Controller) notifyOf(ctx context.Context, changes <-chan struct{}) {
	for {
		select {
		case <-changes:
			c.fleetChanged()
		case <-ctx.Done():
			return
		}
	}
}

func (c *Controller) next(ctx context.Context) bool {
	i, done := c.queue.Get()
	if done {
		return false
	}
	defer c.queue.Done(i)
	if ctx.Err() != nil {
		return false
	}
	switch i.job {
	case syncNode:
		if again := c.sync(ctx, i); again > 0 {
			c.queue.AddAfter(i, again)
		}
	case observeNodes:
		c.observe(ctx)
	case recheckNodes:
		c.recheck()
	case resyncNodes:
		c.resync()
	case followNodes:
		c.passes.interest.update(c.fleet, c.placer, c.nodes.All(), false)
	case sumNodes:
		c.logSum(ctx)
	case findConflicts:
		if l := c.labels.Load(); l != nil {
			c.findConflicts(ctx, l)
		}
	}
	return true
}

// sync decides about a Node. It returns when that has to be done again, 0 for not before
// something changes.
func (c *Controller) sync(ctx context.Context, i item) time.Duration {
	n, err := c.nodes.Lister().Get(i.name)
	if err != nil || n.UID != i.uid {
		c.forget(i.uid) // it is gone, or somebody else's
		return 0
	}
	s := c.stateOf(n)
	s.eventWaits = false
	var next time.Duration
	states := c.fleet.States()
	if nodestate.IsUninitialized(n) {
		next = c.syncUninitialized(ctx, n, s, states)
	} else {
		next = c.syncInitialized(ctx, n, s)
	}
	next = sooner(next, c.syncAbsence(ctx, n, s, states))
	outcome := report.Placed
	if !nodestate.IsUninitialized(n) || s.machine == nil { // otherwise it can be initialized
		outcome = c.outcomeOf(n)
	}
	c.mu.Lock()
	s.outcome = outcome
	c.mu.Unlock()
	if !s.eventWaits {
		s.event.done() // the Event that waited is not due any more
	}
	if next > resyncEvery {
		return 0 // resync comes before
	}
	return next
}
