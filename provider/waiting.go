package provider

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/vcenter/inventory"
)

const (
	// gather is how long changes of Nodes are gathered before they are acted
	// on, so that a burst of them costs one request and not one each.
	gather = 100 * time.Millisecond
	// patience is how long a Node waits before an Event says for what. Every
	// Node waits for a moment.
	patience = 10 * time.Second
)

// Run tells the fleet which machines to follow, wakes the framework's node
// controller for Nodes that can be initialised now, and explains in Events what
// the others wait for. It returns nil when the context is done.
func (p *Provider) Run(ctx context.Context) error {
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: p.client.CoreV1().Events("")})

	changed := make(chan struct{}, 1)
	informer := p.nodes.NodeInformer.Informer()
	registration, err := informer.AddEventHandler(p.onRelevantChange(changed))
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	w := &waitingRoom{
		provider: p,
		recorder: broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "vzones"}),
		waiting:  map[types.UID]*waiting{},
	}
	w.run(ctx, changed, p.fleet.Subscribe())
	return nil
}

// onRelevantChange puts a token into changed when a Node comes, goes, or
// changes in what says which machine it is or whether it waits. Kubelets report
// far more often than that.
func (p *Provider) onRelevantChange(changed chan<- struct{}) cache.ResourceEventHandler {
	token := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { token() },
		DeleteFunc: func(any) { token() },
		UpdateFunc: func(before, now any) {
			b, ok1 := before.(*v1.Node)
			n, ok2 := now.(*v1.Node)
			if !ok1 || !ok2 || b.UID != n.UID || b.Spec.ProviderID != n.Spec.ProviderID ||
				b.Status.NodeInfo.SystemUUID != n.Status.NodeInfo.SystemUUID || isUninitialized(b) != isUninitialized(n) {
				token()
			}
		},
	}
}

// waitingRoom is where uninitialised Nodes wait. It belongs to one goroutine.
type waitingRoom struct {
	provider *Provider
	recorder record.EventRecorder
	waiting  map[types.UID]*waiting
	followed []string
	// round counts the changes of the states.
	round int
}

// waiting is one uninitialised Node.
type waiting struct {
	// woken is what the framework was last told that the Node can be initialised
	// with.
	woken *cloudprovider.InstanceMetadata
	// judged is the Node, and round that of the states, for which that is right.
	judged *v1.Node
	round  int
	// reason and since are what the Node waits for and since when; said is
	// what the last Event told.
	reason, said string
	since        time.Time
}

func (w *waitingRoom) run(ctx context.Context, nodes, states <-chan struct{}) {
	var explain <-chan time.Time
	for {
		all, err := w.provider.nodes.Lister().List(labels.Everything())
		if err != nil {
			// The lister reads a cache; it has no error to give.
			klog.FromContext(ctx).Error(err, "Cannot list Nodes")
		}
		w.follow(all)
		explain = w.look(ctx, all)
		select {
		case <-nodes:
			select {
			case <-time.After(gather):
			case <-ctx.Done():
			}
			select { // what has come meanwhile is about to be looked at
			case <-nodes:
			default:
			}
		case <-states:
			w.round++
		case <-explain:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// follow tells the fleet about the machines of all Nodes, if they have changed.
func (w *waitingRoom) follow(nodes []*v1.Node) {
	ids := make([]inventory.Identity, 0, len(nodes))
	for _, n := range nodes {
		if id, err := identify(n); err == nil {
			ids = append(ids, id)
		}
	}
	key := make([]string, len(ids))
	for i, id := range ids {
		key[i] = followKey(id)
	}
	slices.Sort(key)
	if !slices.Equal(key, w.followed) {
		w.followed = key
		w.provider.fleet.Follow(ids)
	}
}

// followKey is the same for a Node before it has its provider ID and after, when
// the other byte order of its UUID is ruled out: the machine is the same.
func followKey(id inventory.Identity) string {
	if len(id.UUIDs) == 0 {
		return id.Name
	}
	u := id.UUIDs[0]
	return min(u.String(), u.Swapped().String())
}

// look wakes the framework for each Node that can be initialised now and
// returns when the next of the others has waited for long enough to be told of.
func (w *waitingRoom) look(ctx context.Context, nodes []*v1.Node) <-chan time.Time {
	gone := maps.Clone(w.waiting)
	next := time.Duration(0)
	for _, n := range nodes {
		if !isUninitialized(n) || isForeign(n.Spec.ProviderID) {
			continue
		}
		delete(gone, n.UID)
		here := w.waiting[n.UID]
		if here == nil {
			here = &waiting{}
			w.waiting[n.UID] = here
		}
		if here.woken != nil && here.judged == n && here.round == w.round {
			continue
		}
		d, err := w.provider.describe(n)
		if err == nil {
			if !reflect.DeepEqual(here.woken, d.metadata) {
				*here = waiting{woken: d.metadata}
				w.provider.nodes.wake(n)
			}
			here.judged, here.round = n, w.round
			continue
		}
		left := here.explain(err, func(reason string) {
			w.recorder.Event(n, v1.EventTypeWarning, judge(err).event, reason)
			klog.FromContext(ctx).Info("Node waits", "node", n.Name, "reason", reason)
		})
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	for uid := range gone {
		delete(w.waiting, uid)
	}
	if next == 0 {
		return nil
	}
	return time.After(next)
}

// explain calls say once for each reason that has held for long enough, and
// returns how long that still takes, 0 if it is said.
func (h *waiting) explain(err error, say func(string)) time.Duration {
	h.woken = nil
	if reason := err.Error(); reason != h.reason {
		h.reason, h.since = reason, time.Now()
	}
	if h.reason == h.said {
		return 0
	}
	if left := patience - time.Since(h.since); left > 0 {
		return left
	}
	h.said = h.reason
	say(h.reason)
	return 0
}
