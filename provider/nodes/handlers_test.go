package nodes

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/test/placed"
)

const uuidB = "422e4956-ad22-1139-6d72-000000000002"

// idle returns a controller whose queue is not processed.
func idle(t *testing.T, selector labels.Selector) *Controller {
	t.Helper()
	f := &fakeSource{topology: &config.Topology{}}
	c := f.controller(NewStore(f, &config.Config{NodeSelector: selector}, placement.Options{}), nil)
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[item]())
	t.Cleanup(c.queue.ShutDown)
	return c
}

// waits returns an uninitialized, ready Node.
func waits() *v1.Node {
	return uninitialized(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-1"},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	})
}

func labeled(labels map[string]string) func(*v1.Node) {
	return func(n *v1.Node) { n.Labels = labels }
}

// TestRelevantChanges: changes that affect other Nodes, and changes that only requeue the Node. Heartbeats do neither.
func TestRelevantChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change             func(*v1.Node)
		relevant, enqueued bool
	}{
		"a heartbeat":    {func(n *v1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }, false, false},
		"not ready":      {func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionUnknown }, true, true},
		"labels":         {labeled(map[string]string{"a": "b"}), false, true},
		"another taint":  {func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "b"}) }, false, false},
		"drift's taint":  {placed.Taint, false, true},
		"the taint goes": {func(n *v1.Node) { n.Spec.Taints = nil }, true, true},
		"provider ID":    {func(n *v1.Node) { n.Spec.ProviderID = "vsphere://" + uuidB }, true, true},
		"system UUID":    {func(n *v1.Node) { n.Status.NodeInfo.SystemUUID = uuidB }, true, true},
		"addresses": {func(n *v1.Node) {
			n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}}
		}, true, true},
		"its location": {func(n *v1.Node) { n.Annotations = map[string]string{nodeinfo.KeyVM: "east/vm-9"} }, false, true},
		"the condition": {func(n *v1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, report.NewCondition(n, v1.ConditionFalse, "Other", "somebody else wrote it"))
		}, false, true},
		"another Node": {func(n *v1.Node) { n.UID = "another" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				control, before := idle(t, nil), waits()
				now := before.DeepCopy()
				c.change(now)
				if got := mayAffectOthers(control.placer, before, now); got != c.relevant {
					t.Errorf("relevant: %v", got)
				}
				control.handlers().OnUpdate(before, now)
				time.Sleep(2 * gatherDelay) // changes of uninitialized Nodes are gathered
				if got := control.queue.Len() > 0; got != c.enqueued {
					t.Errorf("enqueued: %v", got)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		control, node := idle(t, nil), waits()
		for range 3 { // equal items are queued once
			control.handlers().OnAdd(node, false)
			control.handlers().OnDelete(cache.DeletedFinalStateUnknown{Key: "node-1", Obj: node})
			control.handlers().OnUpdate(node, cache.DeletedFinalStateUnknown{Key: "node-1"})
		}
		if control.queue.Len() != 1 {
			t.Error("Nodes that come or go are relevant")
		}
	})
}

func TestLabelsThatMakeANodeOurs(t *testing.T) {
	control := idle(t, labels.SelectorFromSet(labels.Set{"cloud": "vsphere"}))
	of := func(changes ...func(*v1.Node)) *v1.Node {
		n := waits()
		for _, change := range changes {
			change(n)
		}
		return n
	}
	ours, other := of(labeled(map[string]string{"cloud": "vsphere"})), of(labeled(map[string]string{"a": "b"}))
	for name, c := range map[string]struct {
		before, now *v1.Node
		want        bool
	}{
		"becomes ours":    {other, ours, true},
		"is ours no more": {ours, other, true},
		"another label":   {of(), other, false},
	} {
		if got := mayAffectOthers(control.placer, c.before, c.now); got != c.want {
			t.Errorf("%s: relevant: %v", name, got)
		}
	}
}

// TestPause: a few Nodes have no pause, many at most a second.
func TestPause(t *testing.T) {
	for nodes, most := range map[int]bool{0: false, fewNodes: false, 10_000: true} {
		synctest.Test(t, func(t *testing.T) {
			var p passes
			p.begin(nodes)
			if got := p.pause(); got > observeEvery || got > 0 != most {
				t.Errorf("%d Nodes: %v", nodes, got)
			}
		})
		// Time in a bubble has no monotonic reading.
		var p passes
		p.begin(nodes)
		if next := p.next.Load(); *next == next.Round(0) { //nolint:staticcheck // Equal does not compare the monotonic readings
			t.Errorf("%d Nodes: the next pass is due at %v, which has no monotonic reading: it moves with the wall clock", nodes, next)
		}
	}
}

// BenchmarkStats measures the part of /metrics that grows with the number of Nodes.
func BenchmarkStats(b *testing.B) {
	var nodes []runtime.Object
	for i := range 5000 {
		nodes = append(nodes, named(fmt.Sprint("east-", i), zoned("r", "a")...))
	}
	source, factory := &fakeSource{}, informers.NewSharedInformerFactory(fake.NewClientset(nodes...), 0)
	store := NewStore(source, &config.Config{}, placement.Options{})
	store.Cache().Watch(factory)
	store.Cache().Start()
	factory.Start(b.Context().Done())
	factory.WaitForCacheSync(b.Context().Done())
	c := source.controller(store, nil)
	for _, n := range c.nodes.All() {
		r := c.store.record(n)
		r.phase = initialized
		r.stats = nodeStats{outcome: report.Placed}
	}
	for b.Loop() {
		if s := c.Stats(); s.Outcomes[report.Placed] != len(nodes) {
			b.Fatalf("%+v", s)
		}
	}
}
