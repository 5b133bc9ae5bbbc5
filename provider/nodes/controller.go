// Package nodes is the one controller of Nodes.
//
// It owns all writes to Nodes except the framework's: the annotations with the location of their
// machines, topology labels, the taint of drift, the condition, and Events. It makes the fleet follow
// the machines of all Nodes, and announces a Node to the framework when the Node can be initialized.
// The packages below it decide: placement about a Node and its deletion, report about the texts of its problems,
// and plan about its labels. The controller never initializes or deletes a Node, and
// writes only labels that the configuration names or that it wrote before. It writes a topology label
// only if the vCenter answered within the last two seconds.
//
// One goroutine takes items from one work queue and makes all decisions, so that each Node's
// record has one owner. Requests to the API server and searches of vCenters run in other goroutines and
// put the Node back into the queue. An item is a Node, or a job about all Nodes:
//
//	handlers     a Node has changed          → syncNode
//	fleet        a vCenter's state is new    → observe: syncNode for each Node concerned
//	a Node comes, goes, or frees something   → follow, recheck: syncNode for those it concerns
//	a minute                                 → resync: syncNode for each Node; logSum
package nodes

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"vzones/config"
	"vzones/provider/framework"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
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

	// Run closes running once the fields below are set, and stopped once nothing is decided any more.
	running, stopped chan struct{}
	queue            workqueue.TypedDelayingInterface[item]
	events           events
	limiters         limiters
	writer           *writer
	passes           passes
	// logged is the last sum in the log. The goroutine that decides owns it.
	logged sum
	// loggedOthers are the Nodes of other providers at that time.
	loggedOthers otherProviders

	// labels is nil unless labels are written.
	labels atomic.Pointer[labeler]
}

// New returns a controller of the Nodes in a store that does nothing until Run.
func New(fleet Fleet, store *Store, checker *placement.Checker, client kubernetes.Interface) *Controller {
	return &Controller{
		fleet: fleet, placer: store.Placer(), checker: checker, store: store, nodes: store.Cache(), client: client,
		running: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// Run manages Nodes from the time when the framework has handed over its informers until the context is
// done. Call it once.
func (c *Controller) Run(ctx context.Context) error {
	if !c.nodes.AwaitStart(ctx) {
		return nil
	}
	recorder, end := report.Record(ctx, c.client, "")
	defer end()
	c.queue = workqueue.NewTypedDelayingQueue[item]()
	defer c.queue.ShutDown()
	c.limiters = newLimiters(c.store)
	c.events = events{recorder, c.limiters.events, c.checker}
	c.writer = &writer{client: c.client, store: c.store, limiters: c.limiters, enqueue: c.queue.Add}
	informer := c.nodes.Quiet()
	registration, err := informer.AddEventHandler(c.handlers())
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	// Before the first Node is decided about, so that no change is missed.
	changes := c.fleet.Subscribe()
	close(c.running)
	defer close(c.stopped) // after all that follows
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() {
		c.checker.Run(ctx, func(node types.UID) {
			c.store.Lock()
			defer c.store.Unlock()
			c.enqueueLocked(node)
		})
	})
	g.Go(func() { c.notifyOf(ctx, changes) })
	g.Go(func() { c.limiters.run(ctx, c.queue.Add) })
	defer c.writer.requests.Wait()
	for c.next(ctx) {
	}
	return nil
}

// notifyOf enqueues the jobs of the start, and then those of each change of the fleet until the context is
// done.
func (c *Controller) notifyOf(ctx context.Context, changes <-chan struct{}) {
	c.queue.Add(item{job: resyncNodes})
	c.queue.AddAfter(item{job: sumNodes}, firstSum)
	for {
		select {
		case <-changes:
			c.fleetChanged()
		case <-ctx.Done():
			return
		}
	}
}

// An item is a Node, or a job about all Nodes.
type item struct {
	job  job
	name string
	uid  types.UID
}

func itemOf(n *v1.Node) item { return item{name: n.Name, uid: n.UID} }

// A job is one kind of work on an item.
type job int

const (
	// syncNode decides about one Node.
	syncNode job = iota
	// observeNodes enqueues the Nodes that a change of the fleet, or of other Nodes, concerns.
	observeNodes
	// recheckNodes enqueues the Nodes that a change of another Node may concern.
	recheckNodes
	// resyncNodes enqueues all Nodes, every resyncEvery.
	resyncNodes
	// followNodes has the fleet follow the machines of all Nodes.
	followNodes
	// sumNodes logs how many Nodes are placed, every sumEvery.
	sumNodes
	// findConflicts looks for conflicts of the whole fleet.
	findConflicts
)

// next processes the next item of the queue, and reports whether the queue goes on.
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
	case followNodes:
		c.follow(c.nodes.All(), false)
	case resyncNodes:
		c.resync()
	case syncNode:
		if again := c.syncNode(ctx, i); again > 0 {
			c.queue.AddAfter(i, again)
		}
	case observeNodes:
		c.observe(ctx)
	case recheckNodes:
		c.recheck()
	case sumNodes:
		c.logSum(ctx)
	case findConflicts:
		if l := c.labels.Load(); l != nil {
			c.findConflicts(ctx, l)
		}
	}
	return true
}

// sooner returns the shorter of two delays. One that is not positive is none.
func sooner(a, b time.Duration) time.Duration {
	if b <= 0 || a > 0 && a < b {
		return a
	}
	return b
}

// Fleet is what the controller needs of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// Follow says of which machines the details are wanted.
	Follow([]inventory.Identity)
	// Subscribe returns a channel that is notified when a state has changed.
	Subscribe() <-chan struct{}
	// Probe asks a vCenter for an answer: its state gets a new LastContact or an error, and subscribers
	// are notified.
	Probe(vcenter string)
	// ReadTags makes a vCenter read its tags soon, with the names of the tags that matter.
	// Subscribers are notified of the end, also if it failed.
	ReadTags(vcenter string)
}

// placer is what the controller needs of a placement.Placer, whose documentation it shares.
type placer interface {
	NodeChanged(*v1.Node)

	IsForeign(*v1.Node) bool
	OtherProvider([]inventory.State, *v1.Node) string
	Statement(*v1.Node) (inventory.Identity, error)

	Observe([]inventory.State, *v1.Node) *inventory.Machine
	Join(*v1.Node) (*placement.Decision, error)
	Decide(*v1.Node) *placement.Decision
	Topology() *config.Topology
}

// handlers enqueue a Node that comes, goes, or changes in a fact that decisions depend on. Heartbeats of
// kubelets enqueue nothing.
func (c *Controller) handlers() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.changed(nil, o) },
		UpdateFunc: c.changed,
		DeleteFunc: func(o any) { c.changed(o, nil) },
	}
}

// nodeIn returns the Node that a handler got, nil if it got none.
func nodeIn(o any) *v1.Node {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	n, _ := o.(*v1.Node)
	return n
}

// changed enqueues the items that a change of a Node concerns. Before is nil if the Node is new, and now is
// nil if it is gone.
func (c *Controller) changed(before, now any) {
	b := nodeIn(before)
	n := nodeIn(now)
	isSameMachine := false
	if b != nil && n != nil && b.UID != n.UID {
		c.changed(b, nil)
		b = nil
	}
	switch {
	case n == nil && b == nil:
	case n == nil:
		// The sync forgets the Node.
		c.queue.Add(itemOf(b))
	case b == nil:
		c.queue.Add(itemOf(n))
		c.queue.AddAfter(item{job: findConflicts}, conflictsEvery)
	default:
		c.placer.NodeChanged(n)
		if nodeinfo.IsUninitialized(b) && !nodeinfo.IsUninitialized(n) {
			c.store.Lock()
			c.store.record(n).initialized = time.Now()
			c.store.Unlock()
			defer c.queue.AddAfter(item{job: findConflicts}, conflictsEvery) // after it has been decided about
		}
		isRelevant := isRelevant(c.placer, b, n)
		was := report.ConditionOf(b)
		is := report.ConditionOf(n)
		switch {
		case isRelevant, !maps.Equal(b.Labels, n.Labels), plan.IsTainted(b) != plan.IsTainted(n),
			was.Status != is.Status, was.Reason != is.Reason, was.Message != is.Message,
			b.Annotations[nodeinfo.KeyLabels] != n.Annotations[nodeinfo.KeyLabels], nodeinfo.HasCSIDriver(b) != nodeinfo.HasCSIDriver(n),
			nodeinfo.IsUninitialized(n) && !maps.Equal(b.Annotations, n.Annotations):
			c.queue.Add(itemOf(n))
		}
		if !isRelevant {
			return
		}
		isSameMachine = followKey(c.placer, b) == followKey(c.placer, n)
	}
	c.queue.AddAfter(item{job: recheckNodes}, gather)
	if !isSameMachine {
		c.queue.AddAfter(item{job: followNodes}, gather)
	}
}

// followKey returns the key of the machine that the fleet follows for a Node, empty for none.
func followKey(p placer, n *v1.Node) string {
	if p.IsForeign(n) {
		return ""
	}
	id, err := p.Statement(n)
	if err != nil {
		return ""
	}
	return id.MachineKey()
}

// isRelevant reports whether a change of a Node may concern other Nodes: the Node names another machine, is
// ours or is not, waits or does not, is ready or is not, or has other addresses.
func isRelevant(p placer, b, n *v1.Node) bool {
	return b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
		b.Status.NodeInfo.SystemUUID != n.Status.NodeInfo.SystemUUID ||
		nodeinfo.IsUninitialized(b) != nodeinfo.IsUninitialized(n) || nodeinfo.IsReady(b) != nodeinfo.IsReady(n) ||
		p.IsForeign(b) != p.IsForeign(n) || placement.AddressesDiffer(b, n)
}
