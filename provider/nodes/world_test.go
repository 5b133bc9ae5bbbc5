package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/test/placed"
	"vzones/topology"
)

func TestMain(m *testing.M) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"--logtostderr=false", "--stderrthreshold=FATAL"}); err != nil {
		panic(err)
	}
	klog.SetOutput(io.Discard)
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// world is a controller with a fake API server that checks resource versions, in a synctest bubble.
type world struct {
	*testing.T
	ctx        context.Context
	client     *fake.Clientset
	source     *fakeSource
	controller *Controller
	stop       func()
	mu         sync.Mutex
	// reject returns the error of a patch, if set.
	reject func(node string) error
	// at are the times of patches of Nodes, readyAt of their conditions.
	at, readyAt []time.Time
	// rejectReady returns the error of a patch of conditions, if set.
	rejectReady error
	// log is the log of the next controller.
	log klog.Logger
	// pod contains the Events on the daemon's Pod.
	pod []string
}

const (
	rack   = "example.com/rack"
	settle = time.Minute
)

// topologyOf returns rules for region, zone and one further level.
func topologyOf(drift config.Drift) config.Topology {
	return config.Topology{
		Policy: topology.Policy{
			Rules:  topology.Rules{{Label: topology.LabelRegion, Category: "k8s-region"}, {Label: topology.LabelZone, Category: "k8s-zone"}},
			Levels: topology.Rules{{Label: rack, Category: "rack"}},
		},
		Backfill: true, Drift: drift, Settle: settle,
	}
}

func inWorld(t *testing.T, cfg config.Topology, test func(*world), nodes ...*v1.Node) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for _, n := range nodes {
			objects = append(objects, n.DeepCopy())
		}
		w := &world{T: t, client: fake.NewClientset(objects...), source: &fakeSource{
			places: map[string]placement.Decision{}, errs: map[string]error{}, hanging: map[string]bool{},
			contacts: map[string]time.Time{}, probes: map[string]int{}, oldNames: map[string]bool{},
		}}
		w.client.PrependReactor("patch", "nodes", w.patched)
		w.start(cfg)
		defer func() { w.stop() }()
		test(w)
	})
}

func (w *world) recordEvent(eventType, reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pod = append(w.pod, eventType+" "+reason+" "+message)
}

// start runs a new controller.
func (w *world) start(cfg config.Topology) {
	ctx, cancel := context.WithCancel(klog.NewContext(w.Context(), w.log))
	w.ctx = ctx
	factory := informers.NewSharedInformerFactory(w.client, 0)
	w.source.configure(cfg)
	store := NewStore(w.source, &config.Config{}, placement.Options{})
	store.Cache().Watch(factory)
	store.Cache().Start()
	w.controller = w.source.controller(store, w.client)
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.controller.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	})
	running.Go(func() {
		if err := w.controller.KeepLabels(ctx, w.recordEvent); err != nil {
			w.Errorf("KeepLabels: %v", err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	w.pass(time.Second) // the informer has synced
}

// patched applies a merge patch as an API server does.
func (w *world) patched(a clienttesting.Action) (bool, runtime.Object, error) {
	patch := a.(clienttesting.PatchAction)
	if patch.GetSubresource() == "status" {
		return w.patchedStatus(patch)
	}
	w.mu.Lock()
	w.at = append(w.at, time.Now())
	reject := w.reject
	w.mu.Unlock()
	if reject != nil {
		if err := reject(patch.GetName()); err != nil {
			return true, nil, err
		}
	}
	nodes := v1.SchemeGroupVersion.WithResource("nodes")
	o, err := w.client.Tracker().Get(nodes, "", patch.GetName())
	if err != nil {
		return true, nil, err
	}
	n := o.(*v1.Node)
	var asked struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(patch.GetPatch(), &asked); err != nil {
		return true, nil, err
	}
	if asked.Metadata.ResourceVersion != n.ResourceVersion || asked.Metadata.UID != n.UID {
		return true, nil, apierrors.NewConflict(v1.Resource("nodes"), n.Name, errors.New("the object has been modified"))
	}
	version := func(v string) []byte { return []byte(`"resourceVersion":"` + v + `"`) }
	next := bytes.Replace(patch.GetPatch(), version(n.ResourceVersion), version(later(n)), 1)
	return clienttesting.ObjectReaction(w.client.Tracker())(clienttesting.NewPatchAction(nodes, "", n.Name, patch.GetPatchType(), next))
}

// patchedStatus applies a strategic merge patch of the status as an API server does.
func (w *world) patchedStatus(patch clienttesting.PatchAction) (bool, runtime.Object, error) {
	w.mu.Lock()
	w.readyAt = append(w.readyAt, time.Now())
	reject := w.rejectReady
	w.mu.Unlock()
	nodes := v1.SchemeGroupVersion.WithResource("nodes")
	o, err := w.client.Tracker().Get(nodes, "", patch.GetName())
	if err != nil || reject != nil {
		return true, nil, errors.Join(err, reject)
	}
	before, err := json.Marshal(o)
	if err != nil || patch.GetPatchType() != types.StrategicMergePatchType {
		w.Errorf("a patch %s: %v", patch.GetPatchType(), err)
	}
	merged, err := strategicpatch.StrategicMergePatch(before, patch.GetPatch(), &v1.Node{})
	if err != nil {
		return true, nil, err
	}
	result, n := &v1.Node{}, o.(*v1.Node)
	if err := json.Unmarshal(merged, result); err != nil {
		return true, nil, err
	}
	if result.UID != n.UID {
		return true, nil, apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Node").GroupKind(), n.Name, nil)
	}
	after := n.DeepCopy()
	after.Status, after.ResourceVersion = result.Status, later(n)
	return true, after, w.client.Tracker().Update(nodes, after, "")
}

func later(n *v1.Node) string { v, _ := strconv.Atoi(n.ResourceVersion); return strconv.Itoa(v + 1) }

// rejecting sets the error of patches, or none.
func (w *world) rejecting(reject func(node string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reject = reject
}

// edit changes a Node as another client.
func (w *world) edit(name string, change func(*v1.Node)) {
	w.Helper()
	n := w.node(name).DeepCopy()
	change(n)
	n.ResourceVersion = later(n)
	if _, err := w.client.CoreV1().Nodes().Update(w.ctx, n, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) node(name string) *v1.Node {
	w.Helper()
	n, err := w.client.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// settle waits for all work, including the retry of a condition that was patched at the same time as the labels and got a
// conflict.
func (w *world) settle() { w.pass(retryTime) }

// retryTime exceeds the delay after a conflict.
const retryTime = time.Second

// patches returns the number of patches of Nodes, including failed ones.
func (w *world) patches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.at)
}

// events returns the recorded Events as "Node reason" in order. Each has a text.
func (w *world) events() []string {
	var out []string
	for _, a := range w.client.Actions() {
		if create, ok := a.(clienttesting.CreateAction); ok {
			if e, ok := create.GetObject().(*v1.Event); ok {
				out = append(out, e.InvolvedObject.Name+" "+e.Reason)
				if e.Message == "" || e.InvolvedObject.UID == "" {
					w.Errorf("an Event without a text or an object: %+v", e)
				}
			}
		}
		if patch, ok := a.(clienttesting.PatchAction); ok && a.GetResource().Resource == "events" {
			out = append(out, "again "+patch.GetName())
		}
	}
	return out
}

func (w *world) wantEvents(want ...string) {
	w.Helper()
	if got := w.events(); !slices.Equal(got, want) {
		w.Errorf("Events %q, want %q", got, want)
	}
}

// wantLabels compares all labels of a Node with "key=value".
func (w *world) wantLabels(name string, want ...string) {
	w.Helper()
	got, expected := maps.Clone(w.node(name).Labels), placed.Node(want...).Labels
	delete(got, nodeinfo.KeyInitialized)
	if !maps.Equal(got, expected) {
		w.Errorf("labels of %s are %v, want %v", name, got, expected)
	}
}

// named returns an initialized, ready Node.
func named(name string, labels ...string) *v1.Node {
	n := placed.Node(labels...)
	n.Name, n.UID = name, types.UID("uid-"+name)
	n.Spec.ProviderID = "vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90"
	n.Labels[nodeinfo.KeyInitialized] = "true"
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	return n
}

// withoutProviderID makes a Node one that was registered without the taint.
func withoutProviderID(n *v1.Node) *v1.Node {
	n.Spec.ProviderID = ""
	delete(n.Labels, nodeinfo.KeyInitialized)
	return n
}

func uninitialized(n *v1.Node) *v1.Node {
	n = withoutProviderID(n)
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule})
	return n
}

// zoned returns the stable and beta labels of a region and a zone.
func zoned(region, zone string) []string {
	var labels []string
	for _, key := range plan.LabelKeys(topology.LabelRegion) {
		labels = append(labels, key+"="+region)
	}
	for _, key := range plan.LabelKeys(topology.LabelZone) {
		labels = append(labels, key+"="+zone)
	}
	return labels
}

// at returns a placement with a region, a zone and a rack, which may be empty.
func at(region, zone, level string) topology.Placement {
	return placed.In(topology.LabelRegion+"="+region, topology.LabelZone+"="+zone, rack+"="+level)
}

func (w *world) stats() Stats { return w.controller.Stats() }
