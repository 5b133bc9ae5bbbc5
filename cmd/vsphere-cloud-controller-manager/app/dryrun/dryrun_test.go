package dryrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/absence"
	"vzones/provider/nodes"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// builder makes one client for all.
type builder struct {
	cloudprovider.ControllerClientBuilder
	client kubernetes.Interface
}

func (b builder) Client(string) (kubernetes.Interface, error) { return b.client, nil }

// A fixture is a dry run of Nodes that a test describes.
type fixture struct {
	*Run
	World
	client  *fake.Clientset
	nodes   []nodes.NodeProgress
	begun   bool
	vcenter inventory.State
}

// newFixture returns one with a Node that is initialized and decided about, and a vCenter that
// is read.
func newFixture() *fixture {
	f := &fixture{Run: New(), client: fake.NewClientset(), begun: true, vcenter: inventory.State{VCenter: "east", Snapshot: &inventory.Snapshot{}}}
	f.writing = builder{client: f.client}
	f.nodes = []nodes.NodeProgress{{Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}}}
	f.World = World{
		States:      func() []inventory.State { return []inventory.State{f.vcenter} },
		Progress:    func() (nodes.Progress, bool) { return nodes.Progress{Nodes: f.nodes, Foreign: 1}, f.begun },
		Initializes: true, Timeout: 5 * time.Minute,
	}
	return f
}

// ask lets the framework ask about the Node every Round until the context is done.
func (f *fixture) ask(ctx context.Context) {
	for ctx.Err() == nil {
		f.asked.forMetadata("u")
		select {
		case <-time.After(Round):
		case <-ctx.Done():
		}
	}
}

// await returns how long the dry run takes, and what it has printed.
func (f *fixture) await(t *testing.T) (time.Duration, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go f.ask(ctx)
	began := time.Now()
	for _, n := range f.nodes {
		if err := f.client.Tracker().Add(n.Node); err != nil {
			t.Fatal(err)
		}
	}
	f.Await(ctx, &f.World)
	var b strings.Builder
	if err := f.Print(&b); (err != nil) != (!f.begun || strings.Contains(b.String(), "; INCOMPLETE")) || f.begun && err != nil && !errors.Is(err, ErrIncomplete) {
		t.Error(err)
	}
	return time.Since(began), b.String()
}

func ready() *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	return n
}

func uninitialized() *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}},
	}
}

// TestAwait: a dry run ends once nothing new has come for a while and nothing is pending, and
// otherwise when its time is over, and names what it has waited for.
func TestAwait(t *testing.T) {
	untainted := uninitialized()
	untainted.Spec.Taints = nil
	for name, c := range map[string]struct {
		change func(*fixture)
		least  time.Duration // most is least and a few seconds
		says   string
	}{
		"at rest":                        {func(*fixture) {}, quiet, "; complete\nNodes: 1; would change: 0; with a problem: 0; not managed by vzones: 1\n"},
		"not begun":                      {func(f *fixture) { f.begun = false }, 5 * time.Minute, "INCOMPLETE: not decided within 5m0s: the Nodes are being listed"},
		"a vCenter is being read":        {func(f *fixture) { f.vcenter.Snapshot = nil }, 5 * time.Minute, `vCenter "east" is being read`},
		"a vCenter whose error names it": {func(f *fixture) { f.vcenter.Err = errors.New(`vCenter "east": no route`) }, 5 * time.Minute, `INCOMPLETE: not decided within 5m0s: vCenter "east": no route` + "\n"},
		"a search whose Node is ready":   {func(f *fixture) { f.asked.forExistence("u", absence.ErrConfirming); f.nodes[0].Node = ready() }, quiet, "; complete"},
		"a vCenter fails":                {func(f *fixture) { f.vcenter.Err = errors.New("no\nroute") }, 5 * time.Minute, `vCenter "east": no; route`},
		"a Node is pending":              {func(f *fixture) { f.nodes[0].Pending = true }, 5 * time.Minute, "Nodes that are not decided: n\n"},
		"a pending Node is named":        {func(f *fixture) { f.nodes[0].Pending = true }, 5 * time.Minute, "n     it is not decided\n"},
		"a Node without a place":         {func(f *fixture) { f.nodes[0].Unplaced = topology.ErrAmbiguous }, quiet, "with a problem: 1"},
		"something may be read yet":      {func(f *fixture) { f.nodes[0].Unplaced = fmt.Errorf("x: %w", topology.ErrUnknown) }, quietUnknown, "with a problem: 1"},
		"a search":                       {func(f *fixture) { f.asked.forExistence("u", absence.ErrConfirming) }, 5 * time.Minute, "not decided: n\n"},
		"a search that fails": {func(f *fixture) {
			f.asked.forExistence("u", fmt.Errorf("%w: %w", absence.ErrConfirming, absence.ErrSearchFailed))
		}, quiet, "; complete"},
		"a deletion": {func(f *fixture) {
			f.asked.forExistence("u", absence.ErrConfirming)
			f.changes.remove(action{}, f.nodes[0].Node)
		}, quiet, "n     Node   exists  deleted\n"},
		"a deletion of a Node that is ready by now": {func(f *fixture) {
			f.nodes[0].Node = ready()
			f.changes.remove(action{}, f.nodes[0].Node)
		}, quiet, "would change: 0;"},
		"not asked":           {func(f *fixture) { f.nodes[0].Node.UID = "other" }, 5 * time.Minute, "not decided: n\n"},
		"not asked by intent": {func(f *fixture) { f.nodes[0].Node.UID, f.Initializes = "other", false }, quiet, "; complete"},
		"a Node waits":        {func(f *fixture) { f.nodes[0].Node = uninitialized() }, 5 * time.Minute, "not decided: n\n"},
		"a Node is to wait":   {func(f *fixture) { f.nodes[0].Node, f.nodes[0].Unplaced = uninitialized(), topology.ErrAmbiguous }, quiet, "; complete"},
		"a Node would be initialized": {func(f *fixture) {
			f.nodes[0].Node = uninitialized()
			f.changes.write(action{}, uninitialized(), untainted)
		}, quiet, "n     taint node.cloudprovider.kubernetes.io/uninitialized  NoSchedule  -\n"},
		"a write that has no answer":   {func(f *fixture) { f.changes.begin(request{}) }, 5 * time.Minute, "INCOMPLETE: not decided within 5m0s: writes were still being worked out (Nodes so far: 0)"},
		"a write that has one already": {func(f *fixture) { f.changes.begin(request{})(); f.changes.begin(request{}) }, quiet, "; complete"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				c.change(f)
				took, printed := f.await(t)
				if took < c.least || took > c.least+2*Round || !strings.Contains(printed, c.says) {
					t.Errorf("it took %v, not %v, and printed\n%s", took, c.least, printed)
				}
			})
		})
	}
}

// TestAwaitWaitsForWhatIsNew: as long as something new comes, a dry run goes on.
func TestAwaitWaitsForWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		const last = 10
		go func() {
			for i := range last + 1 {
				would := f.nodes[0].Node.DeepCopy()
				would.Labels = map[string]string{fmt.Sprintf("l%d", i): "x"}
				f.changes.write(action{}, f.nodes[0].Node, would)
				time.Sleep(quiet - Round)
			}
		}()
		took, printed := f.await(t)
		if want := last*(quiet-Round) + quiet; took < want || took > want+2*Round || strings.Count(printed, "  label l") != last+1 {
			t.Errorf("it took %v, not %v, and printed\n%s", took, want, printed)
		}
		events, err := f.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 || events.Items[0].Reason != "DryRun" || events.Items[0].InvolvedObject.UID != types.UID("u") {
			t.Errorf("%v, %v", events, err)
		}
	})
}

// TestAwaitIsInterrupted: what is known by then is printed, with an error, and no Event is written.
func TestAwaitIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f.Await(ctx, &f.World)
		var b strings.Builder
		if err := f.Print(&b); !errors.Is(err, ErrInterrupted) || !strings.Contains(b.String(), "INCOMPLETE: it was ended before") {
			t.Errorf("%v, %s", err, b.String())
		}
		if actions := f.client.Actions(); len(actions) > 0 {
			t.Errorf("%v", actions)
		}
	})
}

// TestAwaitWithoutNodes: a dry run that never had the Nodes fails, and says where to look.
func TestAwaitWithoutNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.begun = false
		f.Await(t.Context(), &f.World)
		if err := f.Print(io.Discard); !errors.Is(err, errNoNodes) || errors.Is(err, ErrIncomplete) {
			t.Error(err)
		}
	})
}

// TestAwaitAfterAFailure: a write that fails is waited for as long as it takes to be tried again. Then
// it is a problem and an error, unless the same write had a result.
func TestAwaitAfterAFailure(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			f.nodes[0].Node = uninitialized()
			if err := f.client.Tracker().Add(uninitialized()); err != nil {
				t.Fatal(err)
			}
			untainted, update := uninitialized(), action{method: "PUT"}
			untainted.Spec.Taints = nil
			f.changes.fail(update, "n", "u", "a write fails: EOF")
			if again {
				time.AfterFunc(quiet+Round, func() { f.changes.write(update, uninitialized(), untainted) })
			}
			began := time.Now()
			f.Await(t.Context(), &f.World)
			var b strings.Builder
			err := f.Print(&b)
			took, isProblem := time.Since(began), strings.Contains(b.String(), "n     a write fails: EOF\n")
			switch {
			case again && (err != nil || isProblem || took > 2*quiet+2*Round):
				t.Errorf("after a result: %v, %v\n%s", took, err, b.String())
			case !again && (!errors.Is(err, errFailed) || !isProblem || took < quietUnknown):
				t.Errorf("without a result: %v, %v\n%s", took, err, b.String())
			}
		})
	}
}

// TestAwaitAfterAnOutage: once a vCenter is read, each Node is asked about again, and what was only
// so during the outage is not in the table.
func TestAwaitAfterAnOutage(t *testing.T) {
	const outage = 40 * time.Second
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		var mu sync.Mutex
		f.States = func() []inventory.State {
			mu.Lock()
			defer mu.Unlock()
			return []inventory.State{f.vcenter}
		}
		f.vcenter.Err = errors.New("no route")
		would := f.nodes[0].Node.DeepCopy()
		would.Status.Conditions = []v1.NodeCondition{{Type: "vzones/TopologyReady", Status: v1.ConditionFalse, Reason: "VCenterUnreachable"}}
		would.Labels = map[string]string{"stays": "x"}
		f.changes.write(action{}, f.nodes[0].Node, would)
		about := v1.ObjectReference{Kind: "Node", Name: "n"}
		f.changes.record(&v1.Event{InvolvedObject: about, Type: v1.EventTypeWarning, Reason: "VCenterUnreachable", Message: "no route"})
		f.changes.record(&v1.Event{InvolvedObject: about, Type: v1.EventTypeWarning, Reason: "TopologyDrift", Message: "label a"})
		time.AfterFunc(outage, func() {
			mu.Lock()
			defer mu.Unlock()
			f.vcenter.Err = nil
		})
		took, printed := f.await(t)
		if took < outage+quiet || strings.Contains(printed, "VCenterUnreachable") || !strings.Contains(printed, "label stays") || !strings.Contains(printed, "TopologyDrift") {
			t.Errorf("it took %v and printed\n%s", took, printed)
		}
	})
}

// TestAwaitComparesWithTheNodes: what somebody else has written meanwhile is not in the table, nor
// are Nodes that are gone.
func TestAwaitComparesWithTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		now := func(name string, uid types.UID) *v1.Node {
			return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
		}
		for _, n := range []*v1.Node{now("n", "u"), now("gone", "g"), now("another", "b")} {
			would := n.DeepCopy()
			would.Labels, would.Spec.ProviderID = map[string]string{"zone": "za", "region": "r"}, "vsphere://x"
			f.changes.write(action{}, n, would)
		}
		f.changes.record(&v1.Event{InvolvedObject: v1.ObjectReference{Kind: "Node", Name: "gone"}, Type: v1.EventTypeWarning, Reason: "TopologyDrift"})
		f.nodes[0].Node.Spec.ProviderID, f.nodes[0].Node.Labels = "vsphere://x", map[string]string{"zone": "zb"}
		if err := f.client.Tracker().Add(now("another", "c")); err != nil {
			t.Fatal(err)
		}
		_, printed := f.await(t)
		const want = "; would change: 1; with a problem: 0; not managed by vzones: 1\n\nNODE  FIELD         NOW  WOULD BE\nn     label region  -    r\nn     label zone    zb   za\n"
		if !strings.HasSuffix(printed, want) {
			t.Error(printed)
		}
	})
}
