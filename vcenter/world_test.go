package vcenter

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// More than there are processors, because tests mostly wait.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var policy = topology.Policy{Rules: topology.Rules{
	{Label: topology.LabelRegion, Category: "region", Required: true},
	{Label: topology.LabelZone, Category: "zone", Required: true},
}}

const twoVCenters = vcentertest.TwoVCenters

// world is a simulated fleet and a Fleet that reads it.
type world struct {
	*testing.T
	ctx     context.Context
	sim     *fleet.Fleet
	cfgs    []config.VCenter
	fleet   *Fleet
	changed <-chan struct{}
	stop    func()
}

// quick are timings for fast tests.
var quick = Options{Requirements: Requirements{Tags: true}, Timeout: patience * 2 * time.Second, TagRefresh: 100 * time.Millisecond, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond}

func run(t *testing.T, description string, opts Options, change func(*fleet.Fleet, []config.VCenter)) *world {
	t.Helper()
	return runWith(t, description, opts, FromFile, change)
}

func runWith(t *testing.T, description string, opts Options, source CredentialSource, change func(*fleet.Fleet, []config.VCenter)) *world {
	t.Helper()
	sim, cfgs := vcentertest.Simulate(t, description)
	if change != nil {
		change(sim, cfgs)
	}
	w := &world{T: t, sim: sim, cfgs: cfgs}
	w.start(source, opts)
	return w
}

// start starts a Fleet without any memory.
func (w *world) start(source CredentialSource, opts Options) {
	_, ctx := ktesting.NewTestContext(w.T)
	ctx, cancel := context.WithCancel(ctx)
	f := NewFleet(w.cfgs, source, opts)
	w.ctx, w.fleet, w.changed = ctx, f, f.Subscribe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	}()
	w.stop = func() { cancel(); <-done }
	w.Cleanup(w.stop)
}

// until waits for a condition on the states, with a generous limit.
func (w *world) until(what string, ok func([]inventory.State) bool) {
	w.Helper()
	limit := time.After(5 * time.Minute) // The login throttle may take that long on a busy computer.
	for !ok(w.fleet.States()) {
		select {
		case <-w.changed:
		case <-time.After(20 * time.Millisecond): // Not every change is announced.
		case <-limit:
			for _, s := range w.fleet.States() {
				w.Logf("%s: error %v, snapshot %+v", s.VCenter, s.Err, s.Snapshot)
			}
			w.Fatalf("never came: %s", what)
		}
	}
}

// find is inventory.Find, and requests checks of homes that are no longer shown.
func (w *world) find(states []inventory.State, id inventory.Identity) (*inventory.VM, error) {
	m, err := inventory.Find(states, id)
	var not *inventory.NotShown
	if errors.As(err, &not) {
		w.fleet.AskHome(not.VCenter, not.ID)
	}
	return m, err
}

func (w *world) id(vm string) inventory.Identity {
	w.Helper()
	m, err := w.sim.VM(vm)
	if err != nil {
		w.Fatal(err)
	}
	return identity(w.T, m.UUID)
}

func identity(t *testing.T, uuid string) inventory.Identity {
	t.Helper()
	u, err := inventory.ParseUUID(uuid)
	if err != nil {
		t.Fatal(err)
	}
	return inventory.Identity{UUIDs: []inventory.UUID{u}}
}

func (w *world) found(id inventory.Identity) *inventory.VM {
	w.Helper()
	var m *inventory.VM
	w.until(id.String()+" found", func(states []inventory.State) bool {
		var err error
		m, err = w.find(states, id)
		return err == nil
	})
	return m
}

func (w *world) zone(id inventory.Identity) string {
	w.Helper()
	p, err := topology.Resolve(policy, w.found(id).Paths)
	if err != nil {
		return err.Error()
	}
	return p.Value(topology.LabelRegion) + "/" + p.Value(topology.LabelZone)
}

// follow runs a Fleet of one vCenter.
func follow(t *testing.T, sim *fleet.Fleet, cfg config.VCenter, source CredentialSource, opts Options) *world {
	t.Helper()
	w := &world{T: t, sim: sim, cfgs: []config.VCenter{cfg}}
	w.start(source, opts)
	return w
}

// in waits for a VM to be in a zone. Its tag may arrive after the VM.
func (w *world) in(id inventory.Identity, zone string) {
	w.Helper()
	w.until(id.String()+" in "+zone, func([]inventory.State) bool { return w.zone(id) == zone })
}
