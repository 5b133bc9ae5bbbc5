package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/config"
	"vzones/internal/signal"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// fakeSource places Nodes as the test requires. A Node named east-1 belongs to the vCenter east.
type fakeSource struct {
	*placement.Placer // provides all other methods

	mu       sync.Mutex
	topology *config.Topology
	absent   []string
	places   map[string]placement.Decision
	errs     map[string]error
	hanging  map[string]bool
	contacts map[string]time.Time
	probes   map[string]int
	tagReads int
	// oldNames contains the Nodes whose tag names must be read before a write.
	oldNames map[string]bool
	// slowNames is how long a reading of tag names takes.
	slowNames time.Duration
	channels  []signal.Signal
}

var (
	_ Fleet                   = (*fakeSource)(nil)
	_ placer                  = (*fakeSource)(nil)
	_ placement.SearchedFleet = (*fakeSource)(nil)
)

// controller returns a controller that uses this source.
func (f *fakeSource) controller(store *Store, client kubernetes.Interface) *Controller {
	f.Placer = store.Placer()
	c := New(f, store, placement.NewChecker(f, f.Placer), client)
	c.placer = f
	return c
}

// States returns only the invisible tag categories and the last answer. Decide returns the placements.
func (f *fakeSource) States() []inventory.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.hanging["east"] {
		f.contacts["east"] = time.Now()
	}
	return []inventory.State{{VCenter: "east", Snapshot: &inventory.Snapshot{InvisibleCategories: f.absent}, LastContact: f.contacts["east"]}}
}

func (f *fakeSource) Follow([]inventory.Identity) {}

func (f *fakeSource) SearchOutside(context.Context, inventory.Identity) error { return nil }

func (f *fakeSource) ConfirmAbsent(context.Context, inventory.Identity) error {
	return errors.New("not to be asked")
}

func (f *fakeSource) Generation() uint64 { return 1 }

// Join implements placer for uninitialized Nodes.
func (f *fakeSource) Join(*v1.Node) (*placement.Decision, error) {
	return &placement.Decision{Metadata: &cloudprovider.InstanceMetadata{}}, nil
}

func vcenterOf(node string) string { vc, _, _ := strings.Cut(node, "-"); return vc }

func (f *fakeSource) Decide(n *v1.Node) *placement.Decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.places[n.Name]
	d.Topology, d.HasOldTagNames, d.LastContact = f.topology, f.oldNames[n.Name], f.contacts[vcenterOf(n.Name)]
	d.PlaceErr, d.Err = f.errs[n.Name], f.errs[n.Name]
	if !ok {
		err := fmt.Errorf("%w: no answer", topology.ErrUnknown)
		d.VMErr, d.PlaceErr, d.Err = err, err, err
	}
	return &d
}

func (f *fakeSource) Topology() *config.Topology {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.topology
}

// configure replaces the topology rules.
func (f *fakeSource) configure(cfg config.Topology) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.topology = &cfg
	f.announce()
}

func (f *fakeSource) Observe(_ []inventory.State, n *v1.Node) *inventory.VM {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.places[n.Name].VM
}

func (f *fakeSource) Subscribe() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := signal.New()
	f.channels = append(f.channels, ch)
	return ch
}

func (f *fakeSource) announce() {
	for _, ch := range f.channels {
		ch.Notify()
	}
}

// Probe is answered immediately unless the vCenter hangs.
func (f *fakeSource) Probe(vcenter string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes[vcenter]++
	if !f.hanging[vcenter] {
		f.contacts[vcenter] = time.Now()
		f.announce()
	}
}

// place sets the placement of Nodes and makes the vCenter answer.
func (f *fakeSource) place(placed topology.Placement, err error, nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		vc := vcenterOf(n)
		placed.Decisions = slices.Clone(placed.Decisions) // The daemon may still read the caller's.
		for i := range placed.Decisions {
			by := *placed.Decisions[i].By
			by.Ref.VCenter = vc
			placed.Decisions[i].By = &by
		}
		f.places[n] = placement.Decision{VM: &inventory.VM{Ref: topology.Ref{VCenter: vc, ID: n}}, VCenter: vc, Placement: placed}
		f.contacts[vc], f.errs[n] = time.Now(), err
	}
	f.announce()
}

// setPower sets the power state of placed VMs.
func (f *fakeSource) setPower(power inventory.Power, nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		d := f.places[n]
		vm := *d.VM
		vm.Power = power
		d.VM = &vm
		f.places[n] = d
	}
	f.announce()
}

// lose removes the VMs of Nodes, as an outage does.
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
