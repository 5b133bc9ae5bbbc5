package dryrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	f.Await(ctx, &f.World)
	var b strings.Builder
	if err := f.Print(&b); err != nil {
		t.Error(err)
	}
	return time.Since(began), b.String()
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
		"at rest":                   {func(*fixture) {}, quiet, "; complete\nNodes: 1, of which 0 would change and 0 have a problem; not managed by vzones: 1\n"},
		"not begun":                 {func(f *fixture) { f.begun = false }, 5 * time.Minute, "INCOMPLETE: not decided within 5m0s: Nodes are being read"},
		"a vCenter is being read":   {func(f *fixture) { f.vcenter.Snapshot = nil }, 5 * time.Minute, `vCenter "east" is being read`},
		"a vCenter fails":           {func(f *fixture) { f.vcenter.Err = errors.New("no\nroute") }, 5 * time.Minute, `vCenter "east": no; route`},
		"a Node is pending":         {func(f *fixture) { f.nodes[0].Pending = true }, 5 * time.Minute, "Nodes that are not decided: n\n"},
		"a pending Node is named":   {func(f *fixture) { f.nodes[0].Pending = true }, 5 * time.Minute, "n     it is not decided\n"},
		"a Node without a place":    {func(f *fixture) { f.nodes[0].Unplaced = topology.ErrAmbiguous }, quiet, "1 have a problem"},
		"something may be read yet": {func(f *fixture) { f.nodes[0].Unplaced = fmt.Errorf("x: %w", topology.ErrUnknown) }, quietUnknown, "1 have a problem"},
		"a search":                  {func(f *fixture) { f.asked.forExistence("u", absence.ErrConfirming) }, 5 * time.Minute, "not decided: n\n"},
		"a search that fails": {func(f *fixture) {
			f.asked.forExistence("u", fmt.Errorf("%w: %w", absence.ErrConfirming, absence.ErrSearchFailed))
		}, quiet, "; complete"},
		"a deletion": {func(f *fixture) {
			f.asked.forExistence("u", absence.ErrConfirming)
			f.changes.remove(f.nodes[0].Node)
		}, quiet, "n     Node   exists  deleted\n"},
		"not asked":                    {func(f *fixture) { f.nodes[0].Node.UID = "other" }, 5 * time.Minute, "not decided: n\n"},
		"not asked by intent":          {func(f *fixture) { f.nodes[0].Node.UID, f.Initializes = "other", false }, quiet, "; complete"},
		"a Node waits":                 {func(f *fixture) { f.nodes[0].Node = uninitialized() }, 5 * time.Minute, "not decided: n\n"},
		"a Node is to wait":            {func(f *fixture) { f.nodes[0].Node, f.nodes[0].Unplaced = uninitialized(), topology.ErrAmbiguous }, quiet, "; complete"},
		"a Node would be initialized":  {func(f *fixture) { f.nodes[0].Node = uninitialized(); f.changes.write(uninitialized(), untainted) }, quiet, "n     taint node.cloudprovider.kubernetes.io/uninitialized  NoSchedule  -\n"},
		"a write that has no answer":   {func(f *fixture) { f.changes.begin(request{}) }, 5 * time.Minute, "INCOMPLETE"},
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
				f.changes.write(f.nodes[0].Node, would)
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
