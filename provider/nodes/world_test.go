package nodes

import (
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
	"strings"
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
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/provider/absence"
	"vzones/provider/keys"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
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

// fakeSource has the places that a test gives it. The vCenter of a Node is what
// comes before the dash of its name.
type fakeSource struct {
	mu       sync.Mutex
	topology *config.Topology
	absent   []string
	places   map[string]placement.Place
	errs     map[string]error
	// unwritten are the labels that Nodes wait for.
	unwritten map[string]map[string]string
	hanging   map[string]bool
	contacts  map[string]time.Time
	probes    map[string]int
	tagReads  int
	// oldNames are the Nodes for which names of tags are to be read first.
	oldNames map[string]bool
	// slowNames is how long names take to be read, which are old by then.
	slowNames time.Duration
	tagged    []topology.Tagged
	channels  []chan struct{}
}

var (
	_ Fleet         = (*fakeSource)(nil)
	_ places        = (*fakeSource)(nil)
	_ absence.Fleet = (*fakeSource)(nil)
)

// States returns none: where Nodes are is said by Place.
func (f *fakeSource) States() []inventory.State { return nil }

func (f *fakeSource) Follow([]inventory.Identity) {}

func (f *fakeSource) SearchOutside(context.Context, inventory.Identity) error { return nil }

func (f *fakeSource) ConfirmAbsent(context.Context, inventory.Identity) error {
	return errors.New("not to be asked")
}

func (f *fakeSource) Generation() uint64 { return 1 }

// Initial is for Nodes that wait.
func (f *fakeSource) Initial(n *v1.Node) (*placement.Initial, error) {
	return &placement.Initial{Metadata: &cloudprovider.InstanceMetadata{}, Unwritten: f.Unwritten(n)}, nil
}

func vcenterOf(node string) string { vc, _, _ := strings.Cut(node, "-"); return vc }

func (f *fakeSource) Place(n *v1.Node) (placement.Place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.places[n.Name]
	p.Topology, p.OldNames = f.topology, f.oldNames[n.Name]
	if !ok {
		p.Problem = fmt.Errorf("%w: trouble", topology.ErrUnknown)
		return p, p.Problem
	}
	p.Contact = f.contacts[vcenterOf(n.Name)]
	return p, f.errs[n.Name]
}

func (f *fakeSource) Topology() *config.Topology {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.topology
}

func (f *fakeSource) Hidden() map[string][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return map[string][]string{"east": f.absent}
}

// configure changes how Nodes get their labels.
func (f *fakeSource) configure(cfg config.Topology) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.topology = &cfg
	f.announce()
}

func (f *fakeSource) Observe(_ []inventory.State, n *v1.Node) *inventory.Machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.places[n.Name].Machine
}

func (f *fakeSource) Subscribe() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan struct{}, 1)
	f.channels = append(f.channels, ch)
	return ch
}

func (f *fakeSource) announce() {
	for _, ch := range f.channels {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// Probe is answered at once by a vCenter that does not hang.
func (f *fakeSource) Probe(vcenter string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes[vcenter]++
	if !f.hanging[vcenter] {
		f.contacts[vcenter] = time.Now()
		f.announce()
	}
}

// place says where Nodes are from now on; the vCenter has answered just now.
func (f *fakeSource) place(placed topology.Placement, err error, nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		vc := vcenterOf(n)
		for i := range placed.Decisions {
			by := *placed.Decisions[i].By
			by.Ref.VCenter = vc
			placed.Decisions[i].By = &by
		}
		f.places[n] = placement.Place{Machine: &inventory.Machine{Ref: topology.Ref{VCenter: vc, ID: n}}, Placement: placed}
		f.contacts[vc], f.errs[n] = time.Now(), err
	}
	f.announce()
}

// lose takes the machines of Nodes away, as trouble does.
func (f *fakeSource) lose(nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		delete(f.places, n)
	}
	f.announce()
}

func (f *fakeSource) hang(vcenter string, hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hanging[vcenter] = hangs
}

func (f *fakeSource) probed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.probes {
		n += p
	}
	return n
}

// world is a controller beside a fake API server that checks resource versions, in
// a bubble of its own time.
type world struct {
	*testing.T
	ctx        context.Context
	client     *fake.Clientset
	source     *fakeSource
	controller *Controller
	stop       func()
	mu         sync.Mutex
	// refuse answers patches, if it is set.
	refuse func(node string) error
	// at are when Nodes were patched.
	at []time.Time
	// pod are the Events on the daemon's Pod.
	pod []string
}

const (
	rack   = "example.com/rack"
	settle = time.Minute
)

// aHost is one whose tags may not be read.
var aHost = &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "HostSystem", ID: "host-1"}, Path: "/dc1/host/c1/h1"}

var errUnreadable = fmt.Errorf("%w: tags of /dc1 cannot be read", topology.ErrUnknown)

// topologyOf has region, zone and one level.
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
			places: map[string]placement.Place{}, errs: map[string]error{}, hanging: map[string]bool{},
			contacts: map[string]time.Time{}, probes: map[string]int{}, oldNames: map[string]bool{},
		}}
		w.client.PrependReactor("patch", "nodes", w.patched)
		w.start(cfg)
		defer func() { w.stop() }()
		test(w)
	})
}

func (w *world) tell(eventType, reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pod = append(w.pod, eventType+" "+reason+" "+message)
}

// start runs a controller, another one after stop.
func (w *world) start(cfg config.Topology) {
	ctx, cancel := context.WithCancel(w.Context())
	w.ctx = ctx
	factory := informers.NewSharedInformerFactory(w.client, 0)
	w.source.configure(cfg)
	placer := placement.New(w.source, &config.Config{}, placement.Options{})
	placer.NodeCache().Watch(factory)
	placer.NodeCache().Start()
	w.controller = New(w.source, placer, absence.NewChecker(w.source, placer), w.client)
	w.controller.places = w.source
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.controller.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	})
	running.Go(func() {
		if err := w.controller.KeepLabels(ctx, w.client, w.tell); err != nil {
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

// patched does what an API server does with a merge patch.
func (w *world) patched(a clienttesting.Action) (bool, runtime.Object, error) {
	patch := a.(clienttesting.PatchAction)
	w.mu.Lock()
	w.at = append(w.at, time.Now())
	refuse := w.refuse
	w.mu.Unlock()
	if refuse != nil {
		if err := refuse(patch.GetName()); err != nil {
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
	after, err := applied(n, patch.GetPatch())
	if err != nil {
		return true, nil, err
	}
	after.ResourceVersion = later(n)
	return true, after, w.client.Tracker().Update(nodes, after, "")
}

func later(n *v1.Node) string { v, _ := strconv.Atoi(n.ResourceVersion); return strconv.Itoa(v + 1) }

// refusing has patches answered so, or as usual.
func (w *world) refusing(refuse func(node string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

// edit changes a Node as somebody else would.
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

func (w *world) settle() { synctest.Wait() }

// patches is how often Nodes were patched, successfully or not.
func (w *world) patches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.at)
}

// events are those that were recorded, as "Node reason", in their order, each with
// a text.
func (w *world) events() []string {
	var out []string
	for _, a := range w.client.Actions() {
		if create, ok := a.(clienttesting.CreateAction); ok {
			if e, ok := create.GetObject().(*v1.Event); ok {
				out = append(out, e.InvolvedObject.Name+" "+e.Reason)
				if e.Message == "" || e.InvolvedObject.UID == "" {
					w.Errorf("an Event that tells nobody anything: %+v", e)
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

// wantLabels compares all labels of a Node, written key=value.
func (w *world) wantLabels(name string, want ...string) {
	w.Helper()
	if got, expected := w.node(name).Labels, aNode(want...).Labels; !maps.Equal(got, expected) {
		w.Errorf("labels of %s are %v, want %v", name, got, expected)
	}
}

func named(name string, labels ...string) *v1.Node {
	n := aNode(labels...)
	n.Name, n.UID = name, types.UID("uid-"+name)
	return n
}

func uninitialised(n *v1.Node) *v1.Node {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule})
	return n
}

// zoned are the labels of a region and a zone with their twins.
func zoned(region, zone string) []string {
	var labels []string
	for _, key := range plan.Twins(topology.LabelRegion) {
		labels = append(labels, key+"="+region)
	}
	for _, key := range plan.Twins(topology.LabelZone) {
		labels = append(labels, key+"="+zone)
	}
	return labels
}

// at is a placement with a region, a zone and a rack; an empty rack is absent.
func at(region, zone, level string) topology.Placement {
	return placedIn(topology.LabelRegion+"="+region, topology.LabelZone+"="+zone, rack+"="+level)
}

// merged is RFC 7386: what an API server makes of a merge patch.
func merged(doc, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if d, ok := doc.(map[string]any); ok {
		maps.Copy(out, d)
	}
	for key, v := range p {
		if v == nil {
			delete(out, key)
		} else {
			out[key] = merged(out[key], v)
		}
	}
	return out
}

// applied returns a Node after a patch.
func applied(n *v1.Node, patch []byte) (*v1.Node, error) {
	data, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	var doc, change any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(merged(doc, change)); err != nil {
		return nil, err
	}
	out := &v1.Node{}
	return out, json.Unmarshal(data, out)
}

// placedIn is a placement with these labels, written label=value. An empty value
// is absent, a question mark an undecided label, and with an exclamation mark behind
// the value another object may decide, whose tags may not be read.
func placedIn(labels ...string) topology.Placement {
	var p topology.Placement
	for _, l := range labels {
		label, value, _ := strings.Cut(l, "=")
		value, unread := strings.CutSuffix(value, "!")
		switch value {
		case "":
		case "?":
			p.Undecided = append(p.Undecided, topology.Undecided{Label: label, Err: errUnreadable})
		default:
			p.Decisions = append(p.Decisions, topology.Decision{
				Label: label, Value: value, Category: "c",
				By: &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ClusterComputeResource", ID: "domain-c1"}, Path: "/dc1/host/c1"},
			})
			if unread {
				p.Decisions[len(p.Decisions)-1].Unread = []*topology.Object{aHost}
				p.Conflicts = []topology.Conflict{{Kind: topology.ConflictUnread, Labels: []string{label}, Objects: []*topology.Object{aHost}}}
			}
		}
	}
	return p
}

// aNode has labels, written key=value.
func aNode(labels ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-1", ResourceVersion: "1", Labels: map[string]string{}, Annotations: map[string]string{}}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		n.Labels[key] = value
	}
	return n
}

func withTaint(n *v1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: keys.DriftTaint, Effect: v1.TaintEffectNoSchedule})
}

func (w *world) stats() Stats {
	s, _ := w.controller.Stats()
	return s
}
