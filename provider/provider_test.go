package provider

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/signal"
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
	// The other log lines are throttled by a clock that outlives each test's bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fakeFleet returns the states that a test sets.
type fakeFleet struct {
	// confirm answers ConfirmAbsent. If nil, no absence is confirmed.
	confirm func(context.Context, inventory.Identity) error

	mu     sync.Mutex
	states []inventory.State
	// reading is called once after the states were read.
	reading func()
	// quiet means that the vCenters do not answer all the time.
	quiet bool
	// answers means that a vCenter answers whenever it is probed.
	answers bool
	asked   int
	follows [][]inventory.Identity
	// outside answers SearchOutside, searches counts the calls.
	outside    error
	searches   int
	generation uint64
	probes     []string
	tagReads   []string
	// hidden contains the VMs that the account cannot see, as vCenter/ID.
	hidden      []string
	subscribers []signal.Signal
}

var _ Fleet = (*fakeFleet)(nil)

func (f *fakeFleet) States() []inventory.State {
	now, reading := f.read()
	if reading != nil {
		reading()
	}
	return now
}

func (f *fakeFleet) read() (states []inventory.State, reading func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	now := slices.Clone(f.states)
	for i := range now {
		if now[i].LastContact.IsZero() && now[i].Snapshot != nil && !f.quiet {
			// A state without a contact was read just now.
			now[i].LastContact = time.Now()
		}
	}
	reading = f.reading
	f.reading = nil
	return now, reading
}

// timesAsked returns the number of calls of States.
func (f *fakeFleet) timesAsked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fakeFleet) Follow(ids []inventory.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follows = append(f.follows, ids)
}

func (f *fakeFleet) followed() [][]inventory.Identity {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.follows
}

func (f *fakeFleet) Subscribe() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := signal.New()
	f.subscribers = append(f.subscribers, ch)
	return ch
}

func (f *fakeFleet) Probe(vcenter string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes = append(f.probes, vcenter)
	if !f.answers {
		return
	}
	f.states = slices.Clone(f.states)
	for i := range f.states {
		if f.states[i].VCenter == vcenter {
			f.states[i].LastContact = time.Now()
		}
	}
	f.announce()
}

// AskHome reports at once that a VM is gone, unless it is hidden.
func (f *fakeFleet) AskHome(vcenter, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	reply := inventory.Gone
	if slices.Contains(f.hidden, vcenter+"/"+id) {
		reply = inventory.Hidden
	}
	for i, s := range f.states {
		if s.VCenter != vcenter || s.Snapshot == nil || s.Snapshot.Homes[id] == reply {
			continue
		}
		snapshot := *s.Snapshot
		snapshot.Homes = maps.Clone(snapshot.Homes)
		if snapshot.Homes == nil {
			snapshot.Homes = map[string]inventory.Reply{}
		}
		snapshot.Homes[id] = reply
		f.states = slices.Clone(f.states)
		f.states[i].Snapshot = &snapshot
		f.announce()
	}
}

func (f *fakeFleet) ReadTags(vcenter string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tagReads = append(f.tagReads, vcenter)
}

// tagsRead returns the vCenters of ReadTags calls.
func (f *fakeFleet) tagsRead() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tagReads)
}

// probed returns the vCenters of Probe calls.
func (f *fakeFleet) probed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.probes
}

func (f *fakeFleet) SearchOutside(context.Context, inventory.Identity) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.searches++
	return f.outside
}

// searched returns the number of calls of SearchOutside.
func (f *fakeFleet) searched() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.searches
}

func (f *fakeFleet) ConfirmAbsent(ctx context.Context, id inventory.Identity) error {
	f.mu.Lock()
	confirm := f.confirm
	f.mu.Unlock()
	if confirm == nil {
		return errors.New("nobody was to be asked")
	}
	return confirm(ctx, id)
}

func (f *fakeFleet) Generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.generation
}

// become changes the states, if there are any, and notifies subscribers.
func (f *fakeFleet) become(states ...inventory.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(states) > 0 {
		if !slices.EqualFunc(f.states, states, func(a, b inventory.State) bool { return a.VCenter == b.VCenter }) {
			f.generation++
		}
		f.states = states
	}
	f.announce()
}

// announce notifies subscribers. The lock is held.
func (f *fakeFleet) announce() {
	for _, ch := range f.subscribers {
		ch.Notify()
	}
}

// stateOf returns the state of a vCenter that was read completely and recently.
func stateOf(vcenter string, vms ...*inventory.VM) inventory.State {
	s := &inventory.Snapshot{
		VCenter: vcenter,
		Index:   map[inventory.UUID][]inventory.Entry{},
		Names:   map[string][]inventory.NameEntry{"node-1": nil},
		VMs:     map[string]*inventory.VM{},
	}
	for i, m := range vms {
		placed := *m
		placed.Ref = s.Ref(cmp.Or(m.Ref.ID, fmt.Sprint("vm-", i+1)))
		e := inventory.Entry{ID: placed.Ref.ID}
		s.Index[m.UUID] = append(s.Index[m.UUID], e)
		s.Names[m.HostName] = append(s.Names[m.HostName], inventory.NameEntry{Entry: e, ByHostName: true})
		s.VMs[placed.Ref.ID] = &placed
	}
	// Homes has replies about VMs that are no longer in the snapshot.
	s.Homes = map[string]inventory.Reply{}
	for i := range 10 {
		id := fmt.Sprint("vm-", i)
		if s.Homes[id] = inventory.Gone; s.VMs[id] != nil {
			s.Homes[id] = inventory.Different
		}
	}
	return inventory.State{VCenter: vcenter, Snapshot: s, WatchedSince: time.Unix(1, 0)}
}

var errRejected = errors.New(`vCenter "west": connection refused`)

// failing makes the last contact of a vCenter a failure.
func failing(s inventory.State) inventory.State {
	s.Err = errRejected
	return s
}

// incomplete makes a state lack VMs.
func incomplete(s inventory.State) inventory.State {
	snapshot := *s.Snapshot
	snapshot.Incomplete = errors.New("datacenter dc9 cannot be listed")
	s.Snapshot = &snapshot
	return s
}

const (
	uuidA = "422e4956-ad22-1139-6d72-59cc8f26bc90"
	uuidB = "422e4956-ad22-1139-6d72-000000000002"
)

func mustUUID(s string) inventory.UUID {
	u, err := inventory.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

// newVM returns a VM with everything that a Node needs, in region east, zone a.
func newVM(uuid string, changes ...func(*inventory.VM)) *inventory.VM {
	m := &inventory.VM{
		UUID: mustUUID(uuid), Name: "node-1", HostName: "node-1", InventoryPath: "/dc1/vm/node-1",
		Power: inventory.PowerOn, CPUs: 4, MemoryMB: 8192, GuestID: "ubuntu64Guest",
		NICs:  []inventory.NIC{{Network: "VM Network", DeviceConfigID: 4000, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}},
		Paths: pathOf("east", "a"),
	}
	for _, change := range changes {
		change(m)
	}
	return m
}

// pathOf returns a compute path with the zone on the cluster and the region on the datacenter. "" means no tag.
func pathOf(region, zone string) []topology.Path {
	tagged := func(kind, path, category, tag string) *topology.Object {
		o := &topology.Object{Ref: topology.Ref{Type: kind, ID: kind + "-1"}, Path: path}
		if tag != "" {
			o.Tags = []topology.Tag{{Category: category, Name: tag}}
		}
		return o
	}
	return []topology.Path{{Kind: topology.ComputePath, Objects: []*topology.Object{
		tagged("HostSystem", "/dc1/host/c1/h1", "", ""),
		tagged("ClusterComputeResource", "/dc1/host/c1", "k8s-zone", zone),
		tagged("Datacenter", "/dc1", "k8s-region", region),
		tagged("Folder", "/", "", ""),
	}}, {Kind: topology.PoolPath, Objects: []*topology.Object{
		tagged("ResourcePool", "/dc1/host/c1/Resources", "", ""),
		tagged("Folder", "/", "", ""),
	}}, {Kind: topology.FolderPath, Objects: []*topology.Object{
		tagged("VirtualMachine", "/dc1/vm/node-1", "", ""),
		tagged("Folder", "/", "", ""),
	}}}
}

func in(region, zone string) func(*inventory.VM) {
	return func(m *inventory.VM) { m.Paths = pathOf(region, zone) }
}

func withPower(p inventory.Power) func(*inventory.VM) {
	return func(m *inventory.VM) { m.Power = p }
}

func withoutAddress(m *inventory.VM) { m.NICs = nil }

func testConfig() *config.Config {
	return &config.Config{
		MatchByName: true,
		VCenters: []config.VCenter{
			{Name: "east", IPFamilies: []string{"ipv4"}},
			{Name: "west", IPFamilies: []string{"ipv4"}},
			{Name: "dual", IPFamilies: []string{"ipv4", "ipv6"}},
			{Name: "ipv6 first", IPFamilies: []string{"ipv6", "ipv4"}},
		},
		Topology: config.Topology{Policy: topology.Policy{Rules: topology.Rules{
			{Label: topology.LabelRegion, Category: "k8s-region", Required: true},
			{Label: topology.LabelZone, Category: "k8s-zone", Required: true},
		}}},
	}
}

// aNode returns a Node that the kubelet has just registered.
func aNode(name string, changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func withSystemUUID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.NodeInfo.SystemUUID = s }
}

func withProviderID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.ProviderID = s }
}

// silent makes a Node not ready, so that the framework calls InstanceExists.
func silent(n *v1.Node) {
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
}

func untainted(n *v1.Node) { n.Spec.Taints = nil }
