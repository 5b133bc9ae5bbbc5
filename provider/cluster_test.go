package provider

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// Delays and limits of package nodes: the time before the Event of an uninitialized and of an initialized Node, the time in
// which changes are gathered, the resync period, and the rate of annotations.
const (
	delay            = 10 * time.Second
	delayRunning     = 30 * time.Second
	gather           = 100 * time.Millisecond
	resyncEvery      = time.Minute
	recordsPerSecond = 20
)

// statusEvery is the framework's default --node-status-update-frequency.
const statusEvery = 5 * time.Minute

// cluster is a provider with a fake API server in a synctest bubble.
type cluster struct {
	*testing.T
	ctx        context.Context
	client     *fake.Clientset
	fleet      *fakeFleet
	provider   *Provider
	controller *nodes.Controller
	// asked records the framework's calls.
	asked *recorder
	// add adds the framework's controllers to a daemon.
	add  func(*cluster, func(func()))
	stop func()
}

type recorder struct {
	*Provider
	mu     sync.Mutex
	calls  int
	errors []error
	// hook is called with an answer before the framework gets it.
	hooked string
	hook   func(*v1.Node)
}

// after sets a hook for the answers that writes follow from.
func (r *recorder) after(call string, hook func(*v1.Node)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooked = call
	r.hook = hook
}

func (r *recorder) answered(call string, n *v1.Node) {
	r.mu.Lock()
	hook := r.hook
	if r.hooked != call {
		hook = nil
	}
	r.mu.Unlock()
	if hook != nil {
		hook(n)
	}
}

func (r *recorder) InstancesV2() (cloudprovider.InstancesV2, bool) { return r, true }

func (r *recorder) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := r.Provider.InstanceMetadata(ctx, node)
	if m != nil {
		r.answered("InstanceMetadata", node)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if err != nil {
		r.errors = append(r.errors, err)
	}
	return m, err
}

func (r *recorder) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	r.mu.Lock()
	r.calls++
	r.mu.Unlock()
	return r.Provider.InstanceExists(ctx, node)
}

func (r *recorder) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	down, err := r.Provider.InstanceShutdown(ctx, node)
	if down {
		r.answered("InstanceShutdown", node)
	}
	return down, err
}

func (r *recorder) seen() (int, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls, r.errors
}

// withFramework runs a test in a bubble with the provider and the framework's node controller, and checks that no
// goroutine remains.
func withFramework(t *testing.T, fleet *fakeFleet, test func(*cluster), nodes ...*v1.Node) {
	t.Helper()
	inBubble(t, fleet, nodes, func(c *cluster, run func(func())) {
		n, err := nodecontroller.NewCloudNodeController(c.provider.NodeInformer(), c.provider.Client(c.client), c.asked, statusEvery, 2, 1)
		if err != nil {
			c.Fatal(err)
		}
		run(func() { n.RunWithContext(c.ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
	}, test)
}

// monitorEvery is the framework's default --node-monitor-period.
const monitorEvery = 5 * time.Second

// withBoth is withFramework with the lifecycle controller and a node selector.
func withBoth(t *testing.T, fleet *fakeFleet, selector string, test func(*cluster), nodes ...*v1.Node) {
	t.Helper()
	inBubble(t, fleet, nodes, func(c *cluster, run func(func())) {
		own, err := labels.Parse(selector)
		if err != nil {
			c.Fatal(err)
		}
		cfg := testConfig()
		cfg.NodeSelector = own
		c.provider.Apply(cfg)
		n, err := nodecontroller.NewCloudNodeController(c.provider.NodeInformer(), c.provider.Client(c.client), c.asked, statusEvery, 2, 1)
		if err != nil {
			c.Fatal(err)
		}
		l, err := lifecyclecontroller.NewCloudNodeLifecycleController(c.provider.LifecycleInformer(), c.provider.Client(c.client), c.asked, monitorEvery, 1)
		if err != nil {
			c.Fatal(err)
		}
		run(func() { n.RunWithContext(c.ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
		run(func() { l.Run(c.ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
	}, test)
}

// alone is withFramework without the framework's controller.
func alone(t *testing.T, fleet *fakeFleet, test func(*cluster), nodes ...*v1.Node) {
	t.Helper()
	inBubble(t, fleet, nodes, func(*cluster, func(func())) {}, test)
}

// compareUIDs rejects writes with a wrong UID, as the API server does.
func compareUIDs(client *fake.Clientset) {
	client.PrependReactor("*", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		var to metav1.PartialObjectMetadata
		switch a := a.(type) {
		case clienttesting.PatchActionImpl:
			to.Name = a.GetName()
			if err := json.Unmarshal(a.GetPatch(), &to); err != nil {
				return true, nil, err
			}
		case clienttesting.UpdateActionImpl:
			if n, ok := a.GetObject().(*v1.Node); ok {
				to.ObjectMeta = n.ObjectMeta
			}
		default:
			return false, nil, nil
		}
		is, err := client.Tracker().Get(a.GetResource(), "", to.Name)
		if n, ok := is.(*v1.Node); err == nil && ok && to.UID != "" && to.UID != n.UID {
			return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), to.Name, errors.New("the UID differs"))
		}
		return false, nil, nil
	})
}

// keepStatus ignores the status in updates, as the API server does.
func keepStatus(client *fake.Clientset) {
	client.PrependReactor("update", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		update, ok := a.(clienttesting.UpdateAction)
		if !ok || a.GetSubresource() != "" {
			return false, nil, nil
		}
		n, ok := update.GetObject().(*v1.Node)
		if !ok {
			return false, nil, nil
		}
		if is, err := client.Tracker().Get(a.GetResource(), "", n.Name); err == nil {
			if is, ok := is.(*v1.Node); ok {
				n.Status = *is.Status.DeepCopy()
			}
		}
		// The fake clientset updates the Node.
		return false, nil, nil
	})
}

func inBubble(t *testing.T, fleet *fakeFleet, there []*v1.Node, add func(*cluster, func(func())), test func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for _, n := range there {
			objects = append(objects, n)
		}
		c := &cluster{T: t, fleet: fleet, client: fake.NewClientset(objects...), add: add}
		keepStatus(c.client)
		compareUIDs(c.client)
		c.start()
		defer func() { c.stop() }()
		test(c)
	})
}

// start runs a daemon, at first or after stop.
func (c *cluster) start() {
	ctx, cancel := context.WithCancel(c.Context())
	c.ctx = ctx
	c.provider = New(c.fleet, testConfig(), Options{})
	c.controller = nodes.New(c.fleet, c.provider.store, c.provider.checker, c.client)
	c.asked = &recorder{Provider: c.provider}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	c.provider.SetInformers(factory)

	var running sync.WaitGroup
	c.add(c, running.Go)
	running.Go(func() {
		if err := c.controller.Run(ctx); err != nil {
			c.Errorf("Run: %v", err)
		}
	})
	c.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	c.pass(time.Second) // the informers have synced, the first passes are done
}

// keepLabels starts to keep labels. The returned function stops everything.
func (c *cluster) keepLabels() (stop func()) {
	c.provider.EnableReadyCondition()
	ended := make(chan error)
	go func() { ended <- c.controller.KeepLabels(c.ctx, func(string, string, string) {}) }()
	return func() {
		c.stop()
		if err := <-ended; err != nil {
			c.Errorf("KeepLabels: %v", err)
		}
	}
}

// settle waits until all goroutines are blocked, without time passing.
func (c *cluster) settle() { synctest.Wait() }

// pass lets time pass.
func (c *cluster) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *cluster) create(n *v1.Node) {
	c.Helper()
	if _, err := c.client.CoreV1().Nodes().Create(c.ctx, n, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) updateStatus(n *v1.Node) {
	c.Helper()
	if _, err := c.client.CoreV1().Nodes().UpdateStatus(c.ctx, n, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) node(name string) *v1.Node {
	c.Helper()
	n, err := c.client.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// heartbeat is a kubelet's periodic update.
func (c *cluster) heartbeat(name string) {
	c.Helper()
	n := c.node(name).DeepCopy()
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	c.updateStatus(n)
}

// writes returns the writes to Nodes as verb and subresource, without those of the location.
func (c *cluster) writes() []string {
	var out []string
	for _, a := range c.client.Actions() {
		if patch, ok := a.(clienttesting.PatchAction); ok && strings.Contains(string(patch.GetPatch()), nodeinfo.KeyVM) {
			continue
		}
		if a.GetResource().Resource == "nodes" && slices.Contains([]string{"update", "patch", "delete"}, a.GetVerb()) {
			out = append(out, strings.Trim(a.GetVerb()+" "+a.GetSubresource(), " "))
		}
	}
	return out
}

// events returns the provider's own Events as "Node reason" in order. A repeated Event is a patch of the first.
func (c *cluster) events() []string {
	var out []string
	for _, a := range c.client.Actions() {
		if patch, ok := a.(clienttesting.PatchAction); ok && a.GetResource().Resource == "events" {
			out = append(out, "again "+patch.GetName())
		}
		create, ok := a.(clienttesting.CreateAction)
		if !ok {
			continue
		}
		if e, ok := create.GetObject().(*v1.Event); ok && e.Source.Component == "vzones" {
			out = append(out, e.InvolvedObject.Name+" "+e.Reason)
			if (e.Type == v1.EventTypeNormal) != slices.Contains([]string{report.ReasonResolved, "AddressesChanged", taintAdded, taintRemoved}, e.Reason) || e.InvolvedObject.Kind != "Node" || e.Message == "" || strings.Contains(e.Message, "\n") || e.Count != 1 {
				c.Errorf("an Event that tells nobody anything: %+v", e)
			}
		}
	}
	return out
}

func (c *cluster) wantEvents(want ...string) {
	c.Helper()
	if got := c.events(); !slices.Equal(got, want) {
		c.Errorf("Events %q, want %q", got, want)
	}
}

// isKnown reports whether the store has anything about a Node.
func (c *cluster) isKnown(node types.UID) bool {
	c.provider.store.Lock()
	defer c.provider.store.Unlock()
	return c.provider.store.ExistingMemory(node) != nil
}

// lastSeen returns the remembered location of a Node's VM.
func (c *cluster) lastSeen(node types.UID) inventory.LastSeen {
	id, _ := c.provider.placer.Identify(&v1.Node{ObjectMeta: metav1.ObjectMeta{UID: node}})
	return id.LastSeen
}
