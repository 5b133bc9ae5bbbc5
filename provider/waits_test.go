package provider

import (
	"context"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"vzones/vcenter/inventory"
)

// waking is a round over one Node, without anything that runs.
type waking struct {
	*testing.T
	fleet    *pausingFleet
	provider *Provider
	node     *v1.Node
	rounds   *rounds
	woken    int
}

// pausingFleet calls reading when the states are looked at, after they were.
type pausingFleet struct {
	fakeFleet
	reading func()
}

func (f *pausingFleet) States() []inventory.State {
	states := f.fakeFleet.States()
	if f.reading != nil {
		f.reading()
	}
	return states
}

func newWaking(t *testing.T) *waking {
	t.Helper()
	w := &waking{T: t, fleet: &pausingFleet{}, node: aNode("node-1", withSystemUUID(uuidA))}
	w.provider = New(w.fleet, testConfig(), Options{})
	w.provider.nodes.note(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { w.woken++ }})
	w.rounds = &rounds{provider: w.provider, teller: newTeller(w.fleet, nil), records: &records{}, nodes: map[types.UID]*attended{}}
	return w
}

// become changes the state of the vCenter: the machine can be placed, or not.
func (w *waking) become(good bool) {
	zone := ""
	if good {
		zone = "a"
	}
	w.fleet.become(stateOf("east", machine(uuidA, in("east", zone))))
}

// round looks, as the rounds do after a change of a state.
func (w *waking) round() {
	w.rounds.round++
	w.rounds.look([]*v1.Node{w.node})
}

// asks is the framework's question. It reports whether the Node can be initialized.
func (w *waking) asks() bool {
	m, err := w.provider.InstanceMetadata(context.Background(), w.node)
	if err != nil {
		w.Error(err)
	}
	return m != nil
}

func (w *waking) want(woken int, when string) {
	w.Helper()
	if w.woken != woken {
		w.Errorf("woken %d times, want %d, %s", w.woken, woken, when)
	}
}

// TestWokenAfterAShortBadState: the framework asks in a bad state that no round has
// seen, and does not ask again before it is woken.
func TestWokenAfterAShortBadState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaking(t)
		w.become(true)
		w.round()
		w.want(1, "when the machine is known")
		w.become(false)
		if w.asks() {
			t.Fatal("initialized in a bad state")
		}
		w.become(true)
		w.round()
		w.want(2, "when the good state is back")
		if !w.asks() {
			t.Fatal("not initialized in a good state")
		}
		w.round()
		w.round()
		w.want(2, "once the framework has its answer")
	})
}

// TestWokenWhileTheFrameworkAsks: the states are good again, and the round has looked,
// before the answer that was made of the bad ones is given.
func TestWokenWhileTheFrameworkAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaking(t)
		w.become(true)
		w.round()
		w.want(1, "when the machine is known")
		w.become(false)
		w.fleet.reading = func() {
			w.fleet.reading = nil
			w.become(true)
			w.round()
		}
		if w.asks() {
			t.Fatal("initialized in a bad state")
		}
		w.want(2, "in the round in the middle of the question")
	})
}

// TestWaitsAreForgotten: of Nodes that are gone nothing is kept.
func TestWaitsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaking(t)
		w.become(false)
		if w.asks() || len(w.provider.waits.nodes) != 1 {
			t.Fatalf("%d Nodes wait", len(w.provider.waits.nodes))
		}
		w.rounds.look(nil)
		if n := len(w.provider.waits.nodes); n != 0 {
			t.Errorf("%d Nodes are kept", n)
		}
	})
}
