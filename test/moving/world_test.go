package moving

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/test/fleet"
	"vzones/test/stack"
)

// The vCenters, with equal clusters. The zone of a cluster is VCENTER-CLUSTER.
const (
	before, after = "old", "new"

	theFleet = `
vcenters:
- name: old
  tags: {region: north}
  datacenters:
  - name: dc
    clusters:
    - {name: c0, tags: {zone: old-c0}, hosts: 3}
    - {name: c1, tags: {zone: old-c1}, hosts: 3}
    - {name: c2, tags: {zone: old-c2}, hosts: 3}
    vms: [{name: a, count: 100, cluster: c0}, {name: b, count: 100, cluster: c1}, {name: c, count: 100, cluster: c2}]
- name: new
  tags: {region: south}
  datacenters:
  - name: dc
    clusters:
    - {name: c0, tags: {zone: new-c0}, hosts: 3}
    - {name: c1, tags: {zone: new-c1}, hosts: 3}
    - {name: c2, tags: {zone: new-c2}, hosts: 3}
`
)

var regions = map[string]string{before: "north", after: "south"}

// flags omit the delays that would keep Nodes in any case.
var flags = []string{"--node-monitor-period=1s", "--node-status-update-frequency=2s", "--deletion-hold=1s"}

type place struct{ region, zone string }

func placeOf(m fleet.VM) place { return place{regions[m.VCenter], m.VCenter + "-" + m.Cluster} }

type world struct {
	t      *testing.T
	s      *stack.Stack
	binary string
	random *rand.Rand
	mount  *stack.Mount
	d      *stack.Daemon

	// vms are the VMs before the moves, there the VMs now, by name, and first the places before the moves.
	vms   []fleet.VM
	there map[string]fleet.VM
	first map[string]place
	// silent are the Nodes that are not ready.
	silent []fleet.VM
	// down is a vCenter that does not respond, or nil.
	down *fleet.VCenter

	store cache.Store
	mu    sync.Mutex
	// kept are the Nodes before the moves; nil until then.
	kept map[string]*v1.Node
	// places are the places that each Node's labels may name.
	places map[string][]place
	failed []string
}

func newWorld(t *testing.T, s *stack.Stack, binary string, seed uint64) *world {
	t.Helper()
	if err := s.Reset(t.Context(), theFleet); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, s: s, binary: binary, random: newRandom(seed), vms: s.Fleet.VMs(), there: map[string]fleet.VM{}, first: map[string]place{}}
	for _, m := range w.vms {
		w.there[m.Name] = m
		w.first[m.Name] = placeOf(m)
	}
	var err error
	if w.mount, err = stack.NewMount(filepath.Join(t.TempDir(), "config")); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Fleet.VCenters() {
		if err := s.WriteCA(v); err != nil {
			t.Fatal(err)
		}
	}
	w.watch()
	return w
}

// watch checks each version of a Node.
func (w *world) watch() {
	store, hasSynced, stop := w.s.FollowNodes(w.t.Context(), cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, is any) { w.see(is.(*v1.Node)) },
		DeleteFunc: func(any) { w.fail("a Node is deleted") },
	})
	w.store = store
	w.t.Cleanup(stop)
	if !cache.WaitForCacheSync(w.t.Context().Done(), hasSynced) {
		w.t.Fatal(context.Cause(w.t.Context()))
	}
}

// keepNodes records the Nodes. From now on their labels name the first place or, with the policy update, the new one.
func (w *world) keepNodes(drift config.Drift) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = map[string]*v1.Node{}
	w.places = map[string][]place{}
	for _, n := range w.nodes() {
		w.kept[n.Name] = n
		w.places[n.Name] = []place{w.first[n.Name]}
	}
	if drift == config.DriftUpdate {
		w.allowLocked()
	}
}

func (w *world) allowNewPlaces() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allowLocked()
}

// allowLocked allows the same cluster in the new vCenter.
func (w *world) allowLocked() {
	for _, m := range w.vms {
		m.VCenter = after
		w.places[m.Name] = append(w.places[m.Name], placeOf(m))
	}
}

// see records what no version of a Node may have.
func (w *world) see(n *v1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.kept[n.Name]
	if was == nil {
		return
	}
	problem := func(format string, args ...any) {
		w.failed = append(w.failed, fmt.Sprintf("Node %s: %s", n.Name, fmt.Sprintf(format, args...)))
	}
	if n.UID != was.UID {
		problem("another Node has its name")
	}
	if n.Spec.ProviderID != was.Spec.ProviderID {
		problem("the provider ID is %s, want %s", n.Spec.ProviderID, was.Spec.ProviderID)
	}
	if len(n.Spec.Taints) > 0 {
		problem("the taints are %v, want none", n.Spec.Taints)
	}
	if !slices.Equal(n.Status.Addresses, was.Status.Addresses) {
		problem("the addresses are %v, want %v", n.Status.Addresses, was.Status.Addresses)
	}
	if !slices.ContainsFunc(w.places[n.Name], func(p place) bool { return hasPlace(n, p) == nil }) {
		problem("the labels name the place %+v, want one of %+v", labelsOf(n), w.places[n.Name])
	}
}

func (w *world) fail(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept != nil {
		w.failed = append(w.failed, what)
	}
}

// violations returns the first of the recorded problems.
func (w *world) violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed[:min(10, len(w.failed))]
}

func (w *world) nodes() []*v1.Node {
	objects := w.store.List()
	nodes := make([]*v1.Node, len(objects))
	for i, o := range objects {
		nodes[i] = o.(*v1.Node)
	}
	return nodes
}

// await waits until check returns nil for each Node in the store, which keepNodes reads too.
func (w *world) await(what string, check func(*v1.Node) error) {
	w.t.Helper()
	var unmet []string
	w.until(what, func() bool {
		unmet = nil
		nodes := w.nodes()
		for _, n := range nodes {
			if err := check(n); err != nil {
				unmet = append(unmet, fmt.Sprintf("Node %s: %v", n.Name, err))
			}
		}
		return len(nodes) == len(w.vms) && len(unmet) == 0
	}, func() string {
		return fmt.Sprintf("%d Nodes differ: %s; %s", len(unmet), strings.Join(unmet[:min(3, len(unmet))], "; "), strings.Join(w.violations(), "; "))
	})
}

func labelsOf(n *v1.Node) place {
	return place{n.Labels[v1.LabelTopologyRegion], n.Labels[v1.LabelTopologyZone]}
}

func hasPlace(n *v1.Node, want place) error {
	beta := place{n.Labels[v1.LabelFailureDomainBetaRegion], n.Labels[v1.LabelFailureDomainBetaZone]}
	if is := labelsOf(n); is != want || beta != want {
		return fmt.Errorf("the labels name the place %+v, the beta labels %+v, want %+v", is, beta, want)
	}
	return nil
}

// inVCenter returns an error unless the Node names its VM.
func inVCenter(n *v1.Node, m fleet.VM) error {
	if is, want := n.Annotations[nodeinfo.KeyVM], m.VCenter+"/"+m.MoID; is != want || n.Spec.ProviderID != m.ProviderID() {
		return fmt.Errorf("the VM is %s, the provider ID %s, want %s and %s", is, n.Spec.ProviderID, want, m.ProviderID())
	}
	return nil
}

// hasAddress returns an error until the framework has written the addresses, which it does after it has removed the taint.
func hasAddress(n *v1.Node) error {
	if !slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP }) {
		return fmt.Errorf("the addresses are %v", n.Status.Addresses)
	}
	return nil
}

func isReady(n *v1.Node, want v1.ConditionStatus) error {
	if is := report.ConditionOf(n); is.Status != want {
		return fmt.Errorf("the condition is %q, %q, want %s", is.Status, is.Reason, want)
	}
	return nil
}

func (w *world) vcenter(name string) *fleet.VCenter { return w.s.Fleet.VCenter(name) }

// configure replaces the configuration as the kubelet does, and waits until a running daemon has applied it.
func (w *world) configure(drift config.Drift, vcenters ...string) {
	w.t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal(w.s.Config(), &all); err != nil {
		w.t.Fatal(err)
	}
	entries, _ := all["vcenter"].(map[string]any)
	maps.DeleteFunc(entries, func(name string, _ any) bool { return !slices.Contains(vcenters, name) })
	all["labels"] = map[string]any{"region": "region", "zone": "zone"}
	all["topology"] = map[string]any{"drift": string(drift), "settle": "1s"}
	data, err := yaml.Marshal(all)
	if err != nil {
		w.t.Fatal(err)
	}
	applied := func() int { return strings.Count(w.d.Log(), "Applied the changed configuration") }
	seen := 0
	if w.d != nil {
		seen = applied()
	}
	if err := w.mount.Swap(map[string][]byte{"vsphere.yaml": data}); err != nil {
		w.t.Fatal(err)
	}
	if w.d != nil {
		w.until("the configuration is applied", func() bool { return applied() > seen })
	}
}

func (w *world) start() {
	w.t.Helper()
	var err error
	if w.d, err = w.s.StartDaemon(w.binary, w.mount.Path("vsphere.yaml"), flags...); err != nil {
		w.t.Fatal(err)
	}
}

// move moves a VM to the same cluster of the new vCenter, as vMotion does: with its UUIDs and addresses, and another
// managed object ID.
func (w *world) move(name string) {
	w.t.Helper()
	m := w.there[name]
	from, to := w.vcenter(before), w.vcenter(after)
	spec := fleet.VMSpec{
		Name: name, Cluster: m.Cluster, UUID: m.UUID, InstanceUUID: m.InstanceUUID, Power: "off", NICs: []fleet.NICSpec{{IPs: m.IPs}},
	}
	create := func() error { return to.Create(m.Datacenter, spec) }
	powerOn := func() error { return to.PowerOn(name) }
	powerOff := func() error { return from.PowerOff(name) }
	destroy := func() error { return from.Destroy(name) }
	disconnect := func() error { return from.SetConnection(name, "disconnected") }
	orders := [][]func() error{
		{create, powerOn, destroy},
		{create, destroy, powerOn},
		{disconnect, create, powerOn, destroy},
	}
	if !slices.ContainsFunc(w.silent, func(s fleet.VM) bool { return s.Name == name }) {
		// While the VM is off in the old vCenter, and off, absent or unknown in the new vCenter, a Node that is not ready
		// gets the shutdown taint, and while no vCenter has the VM, it is deleted.
		orders = append(orders, []func() error{create, powerOff, powerOn, destroy}, []func() error{create, powerOn, powerOff, destroy},
			[]func() error{destroy, create, powerOn})
	}
	for _, step := range orders[w.random.IntN(len(orders))] {
		if err := step(); err != nil {
			w.t.Fatal(err)
		}
		w.soon()
	}
	var err error
	if w.there[name], err = to.VM(name); err != nil {
		w.t.Fatal(err)
	}
}

// incidents returns events by the number of moves before them.
func (w *world) incidents() map[int]func() {
	events := map[int]func(){}
	for _, incident := range []func(){
		func() {
			if _, err := w.d.Stop(); err != nil {
				w.t.Fatal(err)
			}
			w.start()
		},
		func() {
			if err := w.d.Kill(); err != nil {
				w.t.Fatal(err)
			}
			w.start()
		},
		func() { w.endOutage(); w.down = w.vcenter(before); w.down.Refuse() },
		w.endOutage,
		func() { w.endOutage(); w.down = w.vcenter(after); w.down.Hang() },
		w.endOutage,
		func() {
			for _, m := range w.vms {
				if w.maybe(10) {
					w.silent = append(w.silent, m)
				}
			}
			w.setReady(v1.ConditionUnknown, w.silent...)
		},
		w.endSilence,
	} {
		events[w.random.IntN(len(w.vms))] = incident
	}
	return events
}

func (w *world) endOutage() {
	if w.down == nil {
		return
	}
	if err := w.down.Recover(); err != nil {
		w.t.Fatal(err)
	}
	w.down = nil
}

func (w *world) endSilence() {
	w.setReady(v1.ConditionTrue, w.silent...)
	w.silent = nil
}

func (w *world) endIncidents() { w.endOutage(); w.endSilence() }

func (w *world) setReady(status v1.ConditionStatus, vms ...fleet.VM) {
	w.t.Helper()
	for _, m := range vms {
		// A busy API server may not answer in time.
		err := w.s.Cluster.SetNodeReady(w.t.Context(), m.Name, status)
		for range 10 {
			if err == nil {
				break
			}
			err = w.s.Cluster.SetNodeReady(w.t.Context(), m.Name, status)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// expectDriftEvents waits until each Node has an Event about its place.
func (w *world) expectDriftEvents() {
	w.t.Helper()
	w.until("each Node has an Event "+plan.ReasonDrift, func() bool {
		events, err := w.s.Client.CoreV1().Events("").List(w.t.Context(), metav1.ListOptions{FieldSelector: "source=" + report.Source + ",reason=" + plan.ReasonDrift})
		if err != nil {
			return false
		}
		names := map[string]bool{}
		for i := range events.Items {
			names[events.Items[i].InvolvedObject.Name] = true
		}
		return len(names) == len(w.vms)
	})
}
