package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/provider/events"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	// writesPerSecond and eventsPerSecond bound what a retagged cluster of thousands
	// of Nodes may cost the API server. Each write has an Event besides.
	writesPerSecond = 20
	eventsPerSecond = 20
	// fresh is how old the vCenter's last answer may be when a Node is written.
	fresh = 2 * time.Second
	// conflictDelay is the time before a Node that somebody else has written is
	// decided about anew. It does not grow: a frequent writer would starve us.
	conflictDelay = 200 * time.Millisecond
	// writeTimeout bounds a write.
	writeTimeout = 10 * time.Second
	// namesTime bounds how long names of tags are waited for before those that were read
	// since then serve no more.
	namesTime = 10 * time.Minute
	// afterwards is how long a Node may take to be told of after it was initialised.
	afterwards = 10 * time.Second
)

// A Source tells where Nodes are.
type Source interface {
	// Place returns where an initialised Node is. Without a Machine in the result
	// nothing can be said, for a reason that is not the reconciler's to tell; with
	// one, the error is that of its placement.
	Place(*v1.Node) (Place, error)
	// Topology is how Nodes get their labels now. It is another one, at another
	// address, when that has changed, which subscribers are told.
	Topology() *config.Topology
	// Hidden returns the tag categories of the configuration that each vCenter does not
	// show, nil if there are none. The placement of each Node rests on that.
	Hidden() map[string][]string
	// Tagged returns the tags of regions and zones in all vCenters that are attached to
	// anything.
	Tagged() []topology.Tagged
	// Machine returns the machine in such a result, or nil.
	Machine(*v1.Node) *inventory.Machine
	// Subscribe returns a channel that has a token when that has changed.
	Subscribe() <-chan struct{}
	// Probe has a vCenter prove soon that it answers. If it does, subscribers are
	// told.
	Probe(vcenter string)
	// Unwritten returns the labels that an uninitialised Node waits for, since the
	// framework would not write them. There are none unless it could be initialised
	// otherwise.
	Unwritten(*v1.Node) map[string]string
	// ReadTags has a vCenter's tags read soon, with their names. Then subscribers are
	// told, whatever has come of it.
	ReadTags(vcenter string)
	// Reason returns the reason of the Event that tells of an error of Place.
	Reason(error) string
}

// Place is where a Node is.
type Place = placement.Place

// Controller writes what the policy of its source decides. Run is to be called once.
type Controller struct {
	source   Source
	informer coreinformers.NodeInformer
	client   kubernetes.Interface
	recorder record.EventRecorder
	// tell has an Event on the daemon's own Pod written. It does not wait.
	tell  func(eventType, reason, message string)
	queue workqueue.TypedRateLimitingInterface[string]
	pace  flowcontrol.RateLimiter
	// arrived has a token when a Node has come or is initialised.
	arrived chan struct{}

	mu    sync.Mutex
	known map[string]*known // by the Node's name
	// claims are labels that the framework wrote for us and that are not in the
	// annotation yet, with their values.
	claims map[types.UID]map[string]string
	writes map[Action]int
	// rules are those that Nodes get their labels by, before the ones until they
	// changed.
	rules, before *config.Topology
	changed       time.Time
	// free is when the next Event may be recorded.
	free time.Time
	// spanning and unnested are the conflicts of the whole fleet.
	spanning map[topology.Pair]topology.Conflict
	unnested map[topology.Value]topology.Conflict
	// notSeen are the texts that were told of labels that the CSI driver does not see.
	notSeen map[string]bool
	// volumes are those that keep the CSI driver from placing volumes.
	volumes map[topology.Pair][]topology.Conflict
	// unread are the objects that count as untagged because the account may not
	// read their tags, by vCenter, and system the folders that vSphere makes itself.
	// Those that were told of are in them.
	unread, system unread
}

// known is what is remembered of a Node.
type known struct {
	uid types.UID
	// machine is the one that was last decided by; waiting says that the Node is
	// to be looked at whenever a vCenter has answered.
	machine *inventory.Machine
	waiting bool
	// asked is when names of tags were first asked for to write it, zero if they are not.
	asked time.Time

	drifts    []timed
	resized   []timed // the instance type, if it differs
	conflicts []topology.Conflict
	// pair is the last one that it had for certain, zero if none.
	pair topology.Pair
	// values are the last ones that it had for certain, of the labels that nest.
	values []topology.Value
	// unplaced is why the Node has no placement, and since when.
	unplaced      string
	unplacedSince time.Time
	// said are the keys of what the last Events told, by reason.
	said map[string]string
	// told are the labels of the conflicts that were told of, by their texts.
	told map[string][]string
	// turn is when it may tell something, zero if it has nothing to tell.
	turn time.Time
}

// New prepares a controller; it does nothing until Run. Tell is called for Events on
// the daemon's own Pod, about what concerns many Nodes; it must not wait.
func New(source Source, informer coreinformers.NodeInformer, client kubernetes.Interface, tell func(eventType, reason, message string)) *Controller {
	return &Controller{
		source: source, informer: informer, client: client, tell: tell, unread: unread{}, system: unread{}, notSeen: map[string]bool{},
		arrived: make(chan struct{}, 1),
		known:   map[string]*known{}, claims: map[types.UID]map[string]string{}, writes: map[Action]int{},
	}
}

// Run follows Nodes and vCenters until the context is done.
func (c *Controller) Run(ctx context.Context) error {
	recorder, end := events.Record(ctx, c.client, "")
	defer end()
	c.recorder = recorder
	c.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](500*time.Millisecond, time.Minute))
	c.pace = flowcontrol.NewTokenBucketRateLimiter(writesPerSecond, writesPerSecond)
	defer c.pace.Stop()
	registration, err := c.informer.Informer().AddEventHandler(c.handlers())
	if err != nil {
		c.queue.ShutDown()
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = c.informer.Informer().RemoveEventHandler(registration) }()
	var g sync.WaitGroup
	defer g.Wait()
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	// Both before the first Node is decided about, so that no change is missed.
	states, on := c.source.Subscribe(), c.basis()
	c.lately()
	g.Go(func() { c.follow(ctx, states, on) })
	for c.next(ctx) {
	}
	return nil
}

// handlers enqueue Nodes that have come, gone, or changed in what is decided about,
// those of others too, which the lister hides. What the framework writes to a Node
// that it initialises is ours.
func (c *Controller) handlers() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if n, ok := o.(*v1.Node); ok {
				c.queue.Add(n.Name)
				c.arrive()
			}
		},
		UpdateFunc: func(before, now any) {
			b, ok1 := before.(*v1.Node)
			n, ok2 := now.(*v1.Node)
			if !ok1 || !ok2 {
				return
			}
			if uninitialized(b) && !uninitialized(n) && b.UID == n.UID {
				c.claim(b, n)
				c.arrive()
			}
			// A Node that waits is announced unchanged when it can be initialised.
			if changed(b, n) || b == n && uninitialized(n) {
				c.queue.Add(n.Name)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if n, ok := o.(*v1.Node); ok {
				c.disclaim(n.UID)
				c.queue.Add(n.Name)
			}
		},
	}
}

func (c *Controller) next(ctx context.Context) bool {
	name, done := c.queue.Get()
	if done {
		return false
	}
	defer c.queue.Done(name)
	again, err := c.reconcile(ctx, name)
	switch {
	case ctx.Err() != nil:
	case apierrors.IsConflict(err):
		c.queue.AddAfter(name, conflictDelay) // somebody else wrote; it is decided anew
	case err != nil:
		klog.FromContext(ctx).Error(err, "Cannot write the topology of the Node; it is tried again", "node", klog.KRef("", name))
		c.queue.AddRateLimited(name)
	case again > 0:
		c.queue.AddAfter(name, again)
	}
	return true
}

// reconcile decides about a Node and writes that. It returns when the Node is to
// be looked at again, 0 for not before something changes.
func (c *Controller) reconcile(ctx context.Context, name string) (time.Duration, error) {
	n, todo, again, err := c.look(ctx, name)
	if err != nil || todo == nil {
		return again, err
	}
	if !todo.first {
		if err := c.pace.Wait(ctx); err != nil {
			return 0, nil //nolint:nilerr // the context is done
		}
		// The turn may have been long in coming: what is written is what is so now.
		if n, todo, again, err = c.look(ctx, name); err != nil || todo == nil {
			return again, err
		}
	}
	if err := c.write(ctx, n, todo); err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	c.queue.Forget(name)
	return until(todo.due), nil
}

// look returns a Node and what is to be written to it, nil if that is nothing, or
// nothing yet. Then it also returns when the Node is to be looked at again.
func (c *Controller) look(ctx context.Context, name string) (*v1.Node, *plan, time.Duration, error) {
	n, err := c.informer.Lister().Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, 0, err
	}
	if err != nil || uninitialized(n) {
		c.forget(name) // it is gone, somebody else's, or the framework's
		if err == nil {
			if labels := c.source.Unwritten(n); len(labels) > 0 {
				return n, &plan{set: labels, first: true}, 0, nil
			}
		}
		c.queue.Forget(name)
		return nil, nil, 0, nil
	}
	place, todo := c.decide(ctx, n)
	if !todo.writes() {
		c.queue.Forget(name)
		return nil, nil, until(todo.due), nil
	}
	old := todo.rests() && c.waitsForNames(n, &place)
	if todo.rests() && (old || time.Since(place.Contact) > fresh) {
		c.wait(n)
		if old {
			c.source.ReadTags(place.Machine.Ref.VCenter)
		} else {
			c.source.Probe(place.Machine.Ref.VCenter)
		}
		return nil, nil, until(todo.due), nil
	}
	return n, todo, 0, nil
}

func until(due time.Time) time.Duration {
	if due.IsZero() {
		return 0
	}
	return max(time.Until(due), time.Millisecond)
}
