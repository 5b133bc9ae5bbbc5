package provider

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"vzones/vcenter/inventory"
)

// waking counts how often a Node is announced to the framework, which asks when the test
// says so.
type waking struct {
	*cluster
	woken int
}

// withWaking runs a test with one Node, and no framework.
func withWaking(t *testing.T, test func(*waking)) {
	t.Helper()
	alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		w := &waking{cluster: c}
		handlers := cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { w.woken++ }}
		if _, err := c.provider.NodeInformer().Informer().AddEventHandler(handlers); err != nil {
			t.Fatal(err)
		}
		test(w)
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// state is that of the vCenter in which the machine can be placed, or not.
func (w *waking) state(good bool) states {
	zone := ""
	if good {
		zone = "a"
	}
	return states{stateOf("east", machine(uuidA, in("east", zone)))}
}

// become changes the state of the vCenter, and announces that.
func (w *waking) become(good bool) {
	w.fleet.become(w.state(good)...)
	w.settle()
}

// unseen changes the state of the vCenter, and nobody looks.
func (w *waking) unseen(good bool) {
	w.fleet.mu.Lock()
	defer w.fleet.mu.Unlock()
	w.fleet.states = w.state(good)
}

// asks is the framework's question. It reports whether the Node can be initialized.
func (w *waking) asks() bool {
	m, err := w.provider.InstanceMetadata(w.ctx, w.node("node-1"))
	if err != nil {
		w.Error(err)
	}
	return m != nil
}

func (w *waking) want(woken int, when string) {
	w.Helper()
	w.settle()
	if w.woken != woken {
		w.Errorf("announced %d times, want %d, %s", w.woken, woken, when)
	}
}

// TestWokenAfterAShortBadState: the framework asks in a bad state that nobody else has
// seen, and does not ask again before the Node is announced.
func TestWokenAfterAShortBadState(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		w.want(1, "when the machine is known")
		w.unseen(false)
		if w.asks() {
			t.Fatal("initialized in a bad state")
		}
		w.become(true)
		w.want(2, "when the good state is back")
		if !w.asks() {
			t.Fatal("not initialized in a good state")
		}
		w.become(true)
		w.become(true)
		w.want(2, "once the framework has its answer")
	})
}

// TestWokenWhileTheFrameworkAsks: the states are good again, and that is announced, before the
// answer that was made of the bad ones is given.
func TestWokenWhileTheFrameworkAsks(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		w.want(1, "when the machine is known")
		w.unseen(false)
		w.fleet.reading = func() { w.fleet.become(w.state(true)...) }
		if w.asks() {
			t.Fatal("initialized in a bad state")
		}
		w.want(2, "in the middle of the question")
	})
}

// TestALateQuestionReservesNothing: the framework may ask about a Node that is gone. Another one of
// the name gets the machine at once.
func TestALateQuestionReservesNothing(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		old := w.node("node-1")
		w.delete("node-1")
		w.settle()
		if m, err := w.provider.InstanceMetadata(w.ctx, old); m != nil || err != nil {
			t.Errorf("%v, %v", m, err)
		}
		w.create(aNode("node-1", withSystemUUID(uuidA), func(n *v1.Node) { n.UID = "another" }))
		w.pass(gather)
		if !w.asks() {
			t.Error("it has to wait")
		}
	})
}

// TestALateQuestionLeavesNothing: the framework goes through a list of Nodes in which one is gone.
func TestALateQuestionLeavesNothing(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", machine(uuidA))}}, func(c *cluster) {
		old := c.node("node-1")
		c.delete("node-1")
		c.pass(time.Second)
		if m, err := c.provider.InstanceMetadata(c.ctx, old); err != nil || len(m.NodeAddresses) > 0 {
			t.Errorf("%v, %v", m, err)
		}
		if at := c.lastSeen(old.UID); at != (inventory.LastSeen{}) {
			t.Errorf("kept of a Node that is gone: %v", at)
		}
	}, running())
}

// TestWaitsAreForgotten: of Nodes that are gone nothing is kept.
func TestWaitsAreForgotten(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(false)
		if w.asks() || !w.provider.placer.IsRefused("uid-node-1") {
			t.Fatal("the Node does not wait")
		}
		w.delete("node-1")
		synctest.Wait()
		if w.provider.placer.IsRefused("uid-node-1") {
			t.Error("the Node is kept")
		}
	})
}
