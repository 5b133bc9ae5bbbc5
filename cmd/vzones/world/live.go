package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"vzones/config"
	"vzones/internal/signal"
	"vzones/provider"
	"vzones/provider/framework"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// Live contains the daemon's view of the Nodes, and keeps it current while Run runs. It sends no writes.
type Live struct {
	Config *config.Config

	placer   *placement.Placer
	checker  *placement.Checker
	cache    *framework.Cache
	factory  informers.SharedInformerFactory
	selector labels.Selector
	fleet    *vcenter.Fleet
	withLog  func(context.Context) context.Context
	// changed is notified after each change of a Node, a vCenter or a search.
	changed signal.Signal

	// mu guards events.
	mu     sync.Mutex
	events []NodeEvent
	// followed are the keys of the VMs that the fleet watches.
	followed []string
}

// NodeEvent is a change of a Node. Old is nil for a new Node, New for a deleted Node.
type NodeEvent struct{ Old, New *v1.Node }

// OpenLive reads the configuration. daemonFlags are flags of the daemon, which apply only with --config.
func OpenLive(ctx context.Context, f *Flags, daemonFlags []string) (*Live, error) {
	selector, err := f.check()
	if err != nil {
		return nil, err
	}
	flags, err := ParseArguments(daemonFlags)
	if err != nil {
		return nil, err
	}
	w := &World{isLive: true}
	if err := w.connect(f); err != nil {
		return nil, err
	}
	w.RESTConfig.Timeout = 0 // A watch has no timeout.
	w.RESTConfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	if w.Client, err = kubernetes.NewForConfig(w.RESTConfig); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %s", masked(err))
	}
	if f.Config != "" {
		f.NodeLabels = flags.NodeLabels
	}
	finder, err := w.readConfig(ctx, f)
	if err != nil {
		return nil, err
	}
	if w.Daemon != nil {
		fmt.Fprintln(os.Stderr, announcement(w))
		flags = w.Daemon.CommandLine
	}
	l := &Live{
		Config: w.Config, selector: selector, withLog: f.withLog, changed: signal.New(), factory: informers.NewSharedInformerFactory(w.Client, 0),
		fleet: vcenter.NewFleet(w.Config.VCenters, finder.Find, vcenter.Options{
			Requirements: vcenter.RequirementsOf(w.Config),
			LoginTimeout: flags.LoginTimeout, TagRefresh: flags.TagRefresh, DeletionHold: flags.DeletionHold,
		}),
	}
	p := provider.New(l.fleet, w.Config, provider.Options{MaxSnapshotAge: flags.MaxSnapshotAge, TagRefresh: flags.TagRefresh})
	p.SetInformers(l.factory)
	l.placer = p.Store().Placer()
	l.cache = p.Store().Cache()
	l.checker = p.Checker()
	return l, nil
}

// readOnly rejects each request to the API server that could change an object.
type readOnly struct{ next http.RoundTripper }

func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return nil, fmt.Errorf("%s %s is not sent: this command only reads", request.Method, request.URL.Path)
	}
	return r.next.RoundTrip(request)
}

// Run watches the vCenters and the Nodes until the context is done, and calls changed after changes and
// at least every second, never concurrently. The first call is after each vCenter was read or has failed,
// the last one after the context is done.
func (l *Live) Run(stop context.Context, changed func(context.Context, []NodeEvent)) error {
	ctx, cancel := context.WithCancel(l.withLog(context.WithoutCancel(stop)))
	var g sync.WaitGroup
	defer g.Wait()
	defer l.factory.Shutdown()
	defer cancel()
	_, err := l.cache.SharedInformer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { l.add(nil, o) },
		UpdateFunc: l.add,
		DeleteFunc: func(o any) { l.add(o, nil) },
	})
	if err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	l.factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(stop.Done(), l.cache.SharedInformer().HasSynced) {
		return nil
	}
	if !slices.ContainsFunc(l.cache.All(), l.IsSelected) {
		warnOfSelector(l.selector)
	}
	l.follow()
	fleetChanged := l.fleet.Subscribe()
	// The error is always the context's.
	g.Go(func() { _ = l.fleet.Run(ctx) })
	g.Go(func() { l.checker.Run(ctx, func(types.UID) { l.changed.Notify() }) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop.Done():
			changed(stop, l.take())
			return nil
		case <-fleetChanged:
		case <-l.changed:
		case <-tick.C:
		}
		l.follow()
		if !l.isRead() {
			continue
		}
		start := time.Now()
		changed(stop, l.take())
		// Decisions about all Nodes take at most a tenth of a CPU.
		select {
		case <-time.After(max(50*time.Millisecond, 10*time.Since(start))):
		case <-stop.Done():
		}
	}
}

func (l *Live) isRead() bool {
	return !slices.ContainsFunc(l.fleet.States(), func(s inventory.State) bool { return s.Snapshot == nil && s.Err == nil })
}

func (l *Live) add(oldObject, newObject any) {
	if gone, ok := oldObject.(cache.DeletedFinalStateUnknown); ok {
		oldObject = gone.Obj
	}
	before, _ := oldObject.(*v1.Node)
	after, _ := newObject.(*v1.Node)
	events := []NodeEvent{{before, after}}
	if before != nil && after != nil && before.UID != after.UID {
		events = []NodeEvent{{before, nil}, {nil, after}}
	}
	l.mu.Lock()
	l.events = append(l.events, events...)
	l.mu.Unlock()
	l.changed.Notify()
}

func (l *Live) take() []NodeEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

func (l *Live) follow() {
	ids := reportedIdentities(l.placer, l.cache.All())
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = id.VMKey()
	}
	slices.Sort(keys)
	if l.followed == nil || !slices.Equal(keys, l.followed) {
		l.followed = keys
		l.fleet.Follow(ids)
	}
}

// IsSelected reports whether a Node matches --selector.
func (l *Live) IsSelected(n *v1.Node) bool { return l.selector.Matches(labels.Set(n.Labels)) }

// Look returns the daemon's view of a Node, which may be an earlier state of the Node.
func (l *Live) Look(n *v1.Node) *Look {
	if l.placer.IsForeign(n) || !nodeinfo.IsUninitialized(n) {
		look := lookBy(l.placer, n)
		if look.Place.AddressesChange && l.placer.IsWaitingForAddress(n, &look.Place) {
			look.Place.AddressesChange = false
		}
		return look
	}
	d, err := l.placer.Join(n)
	look := lookOf(l.placer, n, d)
	if err != nil {
		look.Err = err
		look.Place.Metadata = nil
	}
	if errors.Is(err, placement.ErrQuiet) {
		for _, s := range l.fleet.States() {
			if s.Err == nil {
				l.fleet.Probe(s.VCenter)
			}
		}
	}
	return look
}

// WhyKept returns nil if the daemon would delete an existing Node now, and otherwise the reason that it
// keeps it. It searches for an absent VM.
func (l *Live) WhyKept(ctx context.Context, n *v1.Node) error {
	exists, err := l.checker.CheckExists(ctx, n)
	if exists {
		return errors.New("the VM exists")
	}
	return err
}

// ConfirmAbsent searches for the VM of a Node that is deleted already. It returns nil if no vCenter has it.
func (l *Live) ConfirmAbsent(ctx context.Context, look *Look) error {
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	if err := l.fleet.ConfirmAbsent(ctx, look.Identity); err != nil {
		return fmt.Errorf("the VM with %s: %w", look.Identity, err)
	}
	return nil
}

// confirmTimeout limits the time for which a search delays the comparison of other Nodes.
const confirmTimeout = 5 * time.Second
