package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"vzones/vcenter/inventory"
)

// statusEvery is the framework's default --node-status-update-frequency.
const statusEvery = 5 * time.Minute

// cluster is a provider beside a fake API server, in a bubble of its own time.
type cluster struct {
	*testing.T
	ctx      context.Context
	client   *fake.Clientset
	fleet    *fakeFleet
	provider *Provider
	// asked is what the framework asked the provider.
	asked *recorded
	stop  func()
}

// recorded notes the calls that the framework makes.
type recorded struct {
	*Provider
	mu     sync.Mutex
	calls  int
	errors []error
}

func (r *recorded) InstancesV2() (cloudprovider.InstancesV2, bool) { return r, true }

func (r *recorded) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := r.Provider.InstanceMetadata(ctx, node)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if err != nil {
		r.errors = append(r.errors, err)
	}
	return m, err
}

func (r *recorded) seen() (int, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls, r.errors
}

// builder gives out one client under any name.
type builder struct{ kubernetes.Interface }

func (b builder) Config(string) (*rest.Config, error)         { return nil, errors.ErrUnsupported }
func (b builder) ConfigOrDie(string) *rest.Config             { panic(errors.ErrUnsupported) }
func (b builder) Client(string) (kubernetes.Interface, error) { return b, nil }
func (b builder) ClientOrDie(string) kubernetes.Interface     { return b }

// withFramework runs a test in a bubble, with the provider and the framework's
// own node controller at work, and expects that stopping leaves no goroutine.
func withFramework(t *testing.T, fleet *fakeFleet, test func(*cluster), nodes ...*v1.Node) {
	t.Helper()
	inBubble(t, fleet, nodes, func(c *cluster, run func(func())) {
		n, err := nodecontroller.NewCloudNodeController(c.provider.NodeInformer(), c.client, c.asked, statusEvery, 2, 1)
		if err != nil {
			c.Fatal(err)
		}
		run(func() { n.RunWithContext(c.ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
	}, test)
}

// alone is withFramework without the framework's controller.
func alone(t *testing.T, fleet *fakeFleet, test func(*cluster), nodes ...*v1.Node) {
	t.Helper()
	inBubble(t, fleet, nodes, func(*cluster, func(func())) {}, test)
}

func inBubble(t *testing.T, fleet *fakeFleet, nodes []*v1.Node, add func(*cluster, func(func())), test func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for _, n := range nodes {
			objects = append(objects, n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := &cluster{T: t, ctx: ctx, fleet: fleet, client: fake.NewClientset(objects...)}
		c.provider = New(fleet, testConfig())
		c.asked = &recorded{Provider: c.provider}
		factory := informers.NewSharedInformerFactory(c.client, 0)
		c.provider.Initialize(builder{c.client}, nil)
		c.provider.SetInformers(factory)

		var running sync.WaitGroup
		add(c, running.Go)
		running.Go(func() {
			if err := c.provider.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		c.stop = sync.OnceFunc(func() {
			cancel()
			running.Wait()
			factory.Shutdown()
		})
		defer c.stop()
		factory.Start(ctx.Done())
		c.pass(time.Second) // informers have synced, the first looks are done
		test(c)
	})
}

// settle waits until everybody waits, without time passing.
func (c *cluster) settle() { synctest.Wait() }

// pass lets time pass and everybody do what is due.
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

func (c *cluster) node(name string) *v1.Node {
	c.Helper()
	n, err := c.client.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// heartbeat is what kubelet reports every few seconds.
func (c *cluster) heartbeat(name string) {
	c.Helper()
	n := c.node(name).DeepCopy()
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	if _, err := c.client.CoreV1().Nodes().UpdateStatus(c.ctx, n, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// writes returns the writes to Nodes, as verb and subresource.
func (c *cluster) writes() []string {
	var out []string
	for _, a := range c.client.Actions() {
		if a.GetResource().Resource == "nodes" && slices.Contains([]string{"update", "patch", "delete"}, a.GetVerb()) {
			out = append(out, strings.Trim(a.GetVerb()+" "+a.GetSubresource(), " "))
		}
	}
	return out
}

// events returns the provider's own Events as "Node reason", in their order. A
// repeated Event is a patch of the first.
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
			if e.Type != v1.EventTypeWarning || e.InvolvedObject.Kind != "Node" || e.Message == "" || e.Count != 1 {
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

// TestNodeIsInitialisedWhenItsMachineBecomesKnown: through the framework's own
// controller, at once, without a change of the Node and without an error whose
// retry could be what did it.
func TestNodeIsInitialisedWhenItsMachineBecomesKnown(t *testing.T) {
	for name, before := range map[string]states{
		"nothing read yet":     {{VCenter: "east"}, {VCenter: "west"}},
		"not in a vCenter":     {stateOf("east"), stateOf("west")},
		"a vCenter in trouble": {stateOf("east"), troubled(stateOf("west"))},
		"no tags yet":          {stateOf("east", machine(uuidA, in("east", "")))},
		"no address yet":       {stateOf("east", machine(uuidA, withoutAddress))},
	} {
		t.Run(name, func(t *testing.T) {
			withFramework(t, &fakeFleet{states: before}, func(c *cluster) {
				c.create(aNode("node-1", withSystemUUID(uuidA)))
				c.pass(5 * time.Second)
				if w := c.writes(); !isUninitialized(c.node("node-1")) || len(w) > 0 {
					t.Fatalf("the Node did not wait: %q", w)
				}
				calls, _ := c.asked.seen()
				if calls == 0 {
					t.Fatal("the framework has not asked yet")
				}

				now := time.Now()
				c.fleet.become(stateOf("east", machine(uuidA)), stateOf("west"))
				c.settle()

				n := c.node("node-1")
				if isUninitialized(n) {
					t.Fatal("the Node still waits")
				}
				if passed := time.Since(now); passed != 0 {
					t.Errorf("it took %v", passed)
				}
				if again, errs := c.asked.seen(); again != calls+1 || len(errs) > 0 {
					t.Errorf("the framework asked %d times and got the errors %v", again-calls, errs)
				}
				if n.Spec.ProviderID != "vsphere://"+uuidA || n.Labels[v1.LabelTopologyZone] != "a" || n.Labels[v1.LabelTopologyRegion] != "east" ||
					n.Labels[v1.LabelFailureDomainBetaZone] != "a" || n.Labels[v1.LabelInstanceTypeStable] != "vsphere-vm.cpu-4.mem-8gb.os-ubuntu" || len(n.Status.Addresses) != 3 {
					t.Errorf("initialised as %+v", n)
				}
			})
		})
	}
}

// TestNodeIsWokenOnce: the framework needs one wake-up, not one a state.
func TestNodeIsWokenOnce(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		var mu sync.Mutex
		woken := 0
		if _, err := c.provider.NodeInformer().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
			mu.Lock()
			defer mu.Unlock()
			woken++
		}}); err != nil {
			c.Fatal(err)
		}
		want := func(n int, when string) {
			c.Helper()
			c.settle()
			mu.Lock()
			defer mu.Unlock()
			if woken != n {
				c.Errorf("woken %d times, want %d, %s", woken, n, when)
			}
		}
		want(0, "while the machine is unknown")
		for range 3 {
			c.fleet.become(stateOf("east", machine(uuidA)))
			want(1, "once it is known")
		}
		c.fleet.become(stateOf("east"))
		want(1, "when it is gone again")
		c.fleet.become(stateOf("east", machine(uuidA)))
		want(2, "when it is back")
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// TestNodesOfAnotherProviderAreLeftAlone: with the taint and without, although
// vSphere has machines with their UUIDs, through several rounds of the status
// loop, which would crash on metadata that is nil.
func TestNodesOfAnotherProviderAreLeftAlone(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", machine(uuidA), machine(uuidB))}}
	withFramework(t, fleet, func(c *cluster) {
		c.heartbeat("waits")
		c.heartbeat("runs")
		c.client.ClearActions()
		c.pass(3*statusEvery + time.Second)
		c.fleet.become(stateOf("east"))
		c.fleet.become(stateOf("east", machine(uuidA), machine(uuidB)))
		c.pass(statusEvery)
		if calls, errs := c.asked.seen(); calls < 6 || len(errs) > 0 {
			t.Errorf("the framework asked %d times and got the errors %v", calls, errs)
		}
		if w := c.writes(); len(w) > 0 {
			t.Errorf("written: %q", w)
		}
		if !isUninitialized(c.node("waits")) {
			t.Error("untainted")
		}
		c.wantEvents()
		for _, ids := range fleet.followed() {
			if len(ids) > 0 {
				t.Errorf("followed: %v", ids)
			}
		}
	},
		aNode("waits", withProviderID("openstack:///"+uuidA), withSystemUUID(uuidA)),
		aNode("runs", withProviderID("openstack:///"+uuidB), withSystemUUID(uuidB), untainted))
}

// TestAddressesAreKeptCurrent: of an initialised Node, also without a zone.
func TestAddressesAreKeptCurrent(t *testing.T) {
	moved := machine(uuidA, in("", ""), func(m *inventory.Machine) { m.NICs = nics("a=10.9.9.9") })
	withFramework(t, &fakeFleet{states: states{stateOf("east", machine(uuidA))}}, func(c *cluster) {
		c.fleet.become(stateOf("east", moved))
		c.pass(statusEvery)
		if got := c.node("node-1").Status.Addresses; len(got) != 3 || got[1].Address != "10.9.9.9" {
			t.Errorf("addresses %v", got)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}

func TestEventsTellWhatANodeWaitsFor(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", machine(uuidA, in("east", "")))}}
	withFramework(t, fleet, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(patience - time.Millisecond)
		c.wantEvents()
		c.pass(2*gather + 2*time.Millisecond)
		c.wantEvents("node-1 TopologyMissing")

		// The same reason over and over is one Event.
		for range 10 {
			c.fleet.become(stateOf("east", machine(uuidA, in("east", ""))))
			c.heartbeat("node-1")
			c.pass(time.Minute)
		}
		c.wantEvents("node-1 TopologyMissing")

		// Another reason has to hold as long.
		c.fleet.become(stateOf("east", machine(uuidA)), stateOf("west", machine(uuidA)))
		c.pass(patience - time.Millisecond)
		c.wantEvents("node-1 TopologyMissing")
		c.pass(time.Millisecond)
		c.wantEvents("node-1 TopologyMissing", "node-1 Ambiguous")
		c.pass(time.Hour)
		c.wantEvents("node-1 TopologyMissing", "node-1 Ambiguous")
	})
}

// TestNoEventForANodeThatGetsPlaced: every Node waits for a moment.
func TestNoEventForANodeThatGetsPlaced(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{{VCenter: "east"}}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(patience / 2)
		c.fleet.become(stateOf("east", machine(uuidA)))
		c.pass(time.Hour)
		c.wantEvents()
		if isUninitialized(c.node("node-1")) {
			t.Error("the Node was not placed, so this shows nothing")
		}
	})
}

// TestNoEventForANodeThatIsGone: nor is a Node of the same name taken for it.
func TestNoEventForANodeThatIsGone(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(patience * 3 / 4)
		if err := c.client.CoreV1().Nodes().Delete(c.ctx, "node-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		again := aNode("node-1", withSystemUUID(uuidA))
		again.UID = "another"
		c.create(again)
		c.pass(patience * 3 / 4)
		c.wantEvents()
		c.pass(patience / 2)
		c.wantEvents("node-1 MachineNotFound")
	})
}

// TestReasonsThatAlternate: what does not hold for long enough is not told.
func TestReasonsThatAlternate(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		for range 10 {
			c.pass(patience / 2)
			c.fleet.become(stateOf("east", machine(uuidA, withoutAddress)))
			c.pass(patience / 2)
			c.fleet.become(stateOf("east"))
		}
		c.wantEvents()
	})
}

// TestLook: the next look is due when the first of those that wait is, in
// whatever order they come, and what is known of Nodes that are gone goes too.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := provide(states{stateOf("east")})
		recorder := record.NewFakeRecorder(10)
		w := &waitingRoom{provider: p, recorder: recorder, waiting: map[types.UID]*waiting{}}
		early, late := aNode("early", withSystemUUID(uuidA)), aNode("late", withSystemUUID(uuidB))
		started := time.Now()
		due := func(next <-chan time.Time, want time.Duration) {
			t.Helper()
			<-next
			if got := time.Since(started); got != want {
				t.Errorf("due after %v, want %v", got, want)
			}
		}

		w.look(t.Context(), []*v1.Node{early})
		time.Sleep(patience / 4)
		due(w.look(t.Context(), []*v1.Node{late, early}), patience)
		due(w.look(t.Context(), []*v1.Node{late, early}), patience*5/4)
		if n := len(recorder.Events); n != 1 {
			t.Errorf("%d Events, want one for the first Node", n)
		}
		if next := w.look(t.Context(), []*v1.Node{late, early}); next != nil || len(recorder.Events) != 2 {
			t.Errorf("%d Events, and another look is due: %v", len(recorder.Events), next != nil)
		}
		if w.look(t.Context(), []*v1.Node{late}); len(w.waiting) != 1 {
			t.Errorf("%d Nodes are remembered, want 1", len(w.waiting))
		}
	})
}

func TestFollow(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east")}}
	alone(t, fleet, func(c *cluster) {
		before := len(fleet.followed())
		want := map[string]bool{"UUID " + uuidA: true} // the Node that was there
		for i := range 10 {
			uuid := fmt.Sprintf("422e4956-ad22-1139-6d72-0000000000%02d", i+10)
			c.create(aNode(fmt.Sprint("node-", i), withSystemUUID(uuid)))
			want[fmt.Sprintf("UUID %s or %s", uuid, mustUUID(uuid).Swapped())] = true
		}
		c.create(aNode("nameless"))
		want[`name "nameless"`] = true
		c.create(aNode("foreign", withProviderID(foreignID), withSystemUUID(uuidB)))
		c.create(aNode("broken", withProviderID("vsphere://x"), withSystemUUID(uuidB)))
		c.pass(gather)

		follows := fleet.followed()
		if len(follows) != before+1 {
			t.Fatalf("a burst of Nodes made %d requests, want 1", len(follows)-before)
		}
		got := map[string]bool{}
		for _, id := range follows[before] {
			got[id.String()] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("followed %v, want %v", got, want)
		}

		// Heartbeats are not even looked into.
		c.pass(gather) // the burst's last token
		asked := fleet.timesAsked()
		for range 10 {
			c.heartbeat("node-1")
			c.pass(gather)
		}
		if n := fleet.timesAsked(); n != asked || len(fleet.followed()) != before+1 {
			t.Errorf("heartbeats made %d looks and %d requests", n-asked, len(fleet.followed())-before-1)
		}

		if err := c.client.CoreV1().Nodes().Delete(c.ctx, "node-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.pass(gather)
		if follows := fleet.followed(); len(follows) != before+2 || len(follows[before+1]) != len(want)-1 {
			t.Errorf("a Node that goes made %d requests, the last %v", len(follows)-before-1, follows[len(follows)-1])
		}
	}, aNode("old", withProviderID("vsphere://"+uuidA), untainted))
}

func TestRelevantChanges(t *testing.T) {
	node := aNode("node-1", withSystemUUID(uuidA))
	changed := func(change func(*v1.Node)) *v1.Node {
		n := node.DeepCopy()
		change(n)
		return n
	}
	for name, c := range map[string]struct {
		now  any
		want bool
	}{
		"a heartbeat":       {changed(func(n *v1.Node) { n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady}} }), false},
		"labels":            {changed(func(n *v1.Node) { n.Labels = map[string]string{"a": "b"} }), false},
		"another taint":     {changed(func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "b"}) }), false},
		"the taint goes":    {changed(untainted), true},
		"provider ID":       {changed(withProviderID("vsphere://" + uuidA)), true},
		"system UUID":       {changed(withSystemUUID(uuidB)), true},
		"another Node":      {changed(func(n *v1.Node) { n.UID = "another" }), true},
		"something unknown": {cache.DeletedFinalStateUnknown{Key: "node-1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := provide(nil)
			token := make(chan struct{}, 1)
			p.onRelevantChange(token).OnUpdate(node, c.now)
			if got := len(token) == 1; got != c.want {
				t.Errorf("relevant: %v", got)
			}
		})
	}
	p, _ := provide(nil)
	token := make(chan struct{}, 1)
	for range 3 { // a token that nobody has taken yet holds nobody up
		p.onRelevantChange(token).OnAdd(node, false)
		p.onRelevantChange(token).OnDelete(cache.DeletedFinalStateUnknown{Key: "node-1", Obj: node})
	}
	if len(token) != 1 {
		t.Error("Nodes that come or go are relevant")
	}
}

// TestRunEnds: the bubble fails if Run leaves a goroutine behind.
func TestRunEnds(t *testing.T) {
	t.Run("before the framework has begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p, _ := provide(nil)
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			select {
			case <-p.Started():
				t.Error("started")
			default:
			}
		})
	})
	t.Run("while the informer has not synced", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p, f := provide(nil)
			client := fake.NewClientset()
			p.Initialize(builder{client}, nil)
			p.SetInformers(informers.NewSharedInformerFactory(client, 0)) // never started
			<-p.Started()
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; err != nil || len(f.followed()) > 0 {
				t.Error(err, f.followed())
			}
		})
	})
	t.Run("while Nodes wait and are gathered", func(t *testing.T) {
		alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
			c.create(aNode("node-2", withSystemUUID(uuidB)))
			c.settle()
			now := time.Now()
			c.stop()
			if passed := time.Since(now); passed > 0 {
				t.Errorf("it took %v", passed)
			}
		}, aNode("node-1", withSystemUUID(uuidA)))
	})
}
