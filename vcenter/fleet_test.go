package vcenter

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rules = topology.Rules{
	{Label: topology.LabelRegion, Category: "region", Required: true},
	{Label: topology.LabelZone, Category: "zone", Required: true},
}

const twoVCenters = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    folder: prod
    tags: {region: east}
    clusters:
    - {name: c1, tags: {zone: a}, hosts: 2, pools: [{name: gold}]}
    - {name: c2, tags: {zone: b}, hosts: 1}
    vms:
    - {name: n1, cluster: c1, pool: gold}
    - {name: n2, cluster: c2, folder: x/y}
    - {name: off, cluster: c1, power: "off"}
    - {name: tmpl, cluster: c1, template: true}
  - name: dc2
    tags: {region: east}
    clusters: [{name: c3, tags: {zone: c}, hosts: 1}]
    vms: [{name: n3, cluster: c3}]
- name: west
  datacenters:
  - name: dc1
    folder: prod
    tags: {region: west}
    clusters:
    - {name: c1, tags: {zone: a}, hosts: 2, pools: [{name: gold}]}
    vms: [{name: w1, cluster: c1, pool: gold}]
`

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

func simulate(t *testing.T, description string) (*fleet.Fleet, []config.VCenter) {
	t.Helper()
	spec, err := fleet.Parse([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	sim, err := fleet.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	var cfgs []config.VCenter
	for _, v := range sim.VCenters() {
		cfgs = append(cfgs, config.VCenter{
			Name: v.Name(), Server: v.Host(), Port: v.Port(), RoundTrips: 3, CA: v.Certificate(),
			User: v.User(), Password: config.NewPassword(v.Password()), IPFamilies: []string{"ipv4"},
		})
	}
	return sim, cfgs
}

// quick are timings under which a test need not wait.
var quick = Options{Tags: true, Timeout: 2 * time.Second, Interval: 100 * time.Millisecond, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond}

func run(t *testing.T, description string, opts Options, change func(*fleet.Fleet, []config.VCenter)) *world {
	t.Helper()
	sim, cfgs := simulate(t, description)
	if change != nil {
		change(sim, cfgs)
	}
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	w := &world{T: t, ctx: ctx, sim: sim, cfgs: cfgs, fleet: NewFleet(cfgs, FromFile, opts)}
	w.changed = w.fleet.Subscribe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.fleet.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	w.stop = func() { cancel(); <-done }
	t.Cleanup(w.stop)
	return w
}

// until waits for the states to satisfy a condition and fails after a bound
// that no working machine needs.
func (w *world) until(what string, ok func([]inventory.State) bool) {
	w.Helper()
	limit := time.After(30 * time.Second)
	for !ok(w.fleet.States()) {
		select {
		case <-w.changed:
		case <-limit:
			for _, s := range w.fleet.States() {
				w.Logf("%s: trouble %v, snapshot %+v", s.VCenter, s.Trouble, s.Snapshot)
			}
			w.Fatalf("never came: %s", what)
		}
	}
}

func (w *world) id(machine string) inventory.Identity {
	w.Helper()
	m, err := w.sim.Machine(machine)
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

// found waits for a machine and returns it.
func (w *world) found(id inventory.Identity) *inventory.Machine {
	w.Helper()
	var m *inventory.Machine
	w.until(id.String()+" found", func(states []inventory.State) bool {
		var err error
		m, err = inventory.Find(states, id)
		return err == nil
	})
	return m
}

func (w *world) zone(id inventory.Identity) string {
	w.Helper()
	p, err := topology.Resolve(rules, w.found(id).Paths)
	if err != nil {
		w.Fatal(err)
	}
	return p.Value(topology.LabelRegion) + "/" + p.Value(topology.LabelZone)
}

func TestMachinesAreReadWithEverythingAboveThem(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n2"), w.id("n3"), w.id("w1")})
	for machine, want := range map[string]string{"n1": "east/a", "n2": "east/b", "n3": "east/c", "w1": "west/a"} {
		if got := w.zone(w.id(machine)); got != want {
			t.Errorf("%s is in %s, want %s", machine, got, want)
		}
	}
	m := w.found(w.id("n2"))
	if m.Ref.VCenter != "east" || m.Name != "n2" || m.HostName != "n2" || m.InventoryPath != "/prod/dc1/vm/x/y/n2" || m.Datacenter != "/prod/dc1" {
		t.Errorf("read %+v", m)
	}
	if m.Power != inventory.PowerOn || m.CPUs != 4 || m.MemoryMB != 8192 || m.GuestID != "ubuntu64Guest" || len(m.NICs) != 1 || len(m.NICs[0].Addresses) != 1 {
		t.Errorf("read %+v", m)
	}
	var kinds []topology.PathKind
	for _, p := range m.Paths {
		kinds = append(kinds, p.Kind)
		if last := p.Objects[len(p.Objects)-1]; p.Broken != nil || last.Path != "/" {
			t.Errorf("the %s path ends at %s: %v", p.Kind, last, p.Broken)
		}
	}
	if len(kinds) != 3 || kinds[0] != topology.ComputePath || kinds[1] != topology.PoolPath || kinds[2] != topology.FolderPath {
		t.Errorf("paths %v", kinds)
	}
}

func TestEqualManagedObjectIDsAreKeptApart(t *testing.T) {
	const one = `
- name: NAME
  datacenters:
  - name: dc1
    tags: {region: NAME}
    clusters: [{name: c1, tags: {zone: a}, hosts: 1}]
    vms: [{name: NODE, cluster: c1}]`
	w := run(t, "vcenters:"+strings.NewReplacer("NAME", "east", "NODE", "n1").Replace(one)+
		strings.NewReplacer("NAME", "west", "NODE", "w1").Replace(one), quick, nil)
	east, west := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{east, west})
	a, b := w.found(east), w.found(west)
	if a.Ref.ID != b.Ref.ID {
		t.Fatalf("the simulated vCenters have no equal IDs: %s and %s", a.Ref, b.Ref)
	}
	if a.Ref == b.Ref || a.Name != "n1" || b.Name != "w1" || w.zone(east) != "east/a" || w.zone(west) != "west/a" {
		t.Errorf("mixed up: %s is %s, %s is %s", a.Ref, a.Name, b.Ref, b.Name)
	}
}

func TestOnlyFollowedMachinesAreReadInFull(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	for _, s := range w.fleet.States() {
		if s.VCenter == "east" && (len(s.Snapshot.Machines) != 1 || len(s.Snapshot.Index) != 5) {
			t.Errorf("%d machines, %d entries", len(s.Snapshot.Machines), len(s.Snapshot.Index))
		}
	}
	if _, err := inventory.Find(w.fleet.States(), w.id("n2")); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("a machine whose details are not read: %v", err)
	}
}

func TestTemplatesAreNoMachines(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("tmpl")})
	w.until("both vCenters read", func(states []inventory.State) bool {
		_, err := inventory.Find(states, w.id("tmpl"))
		return errors.Is(err, topology.ErrAbsent)
	})
}

func TestNamesServeNodesWithoutUUID(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{{Name: "W1"}})
	if m := w.found(inventory.Identity{Name: "W1"}); m.Name != "w1" || m.Ref.VCenter != "west" {
		t.Errorf("found %+v", m)
	}
}

func TestChangesShowAfterTheInterval(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	east := w.sim.VCenter("east")
	n2, err := w.sim.Machine("n2")
	if err != nil {
		t.Fatal(err)
	}
	if err := east.MoveVM("n1", n2.Host); err != nil {
		t.Fatal(err)
	}
	w.until("n1 in zone b", func([]inventory.State) bool { return w.zone(id) == "east/b" })
	if err := east.Retag("c2", "zone", "z"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 in zone z", func([]inventory.State) bool { return w.zone(id) == "east/z" })
	if err := east.PowerOff("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 off", func([]inventory.State) bool { return w.found(id).Power == inventory.PowerOff })
	if err := east.Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 gone", func(states []inventory.State) bool {
		_, err := inventory.Find(states, id)
		return errors.Is(err, topology.ErrAbsent)
	})
	if err := w.fleet.ConfirmAbsent(w.ctx, id.UUIDs); err != nil {
		t.Errorf("not confirmed: %v", err)
	}
}

func TestConfiguredDatacentersLimitTheIndex(t *testing.T) {
	for name, configured := range map[string]string{"by name": "dc2", "by path": "/dc2"} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, quick, func(_ *fleet.Fleet, cfgs []config.VCenter) {
				cfgs[0].Datacenters = []string{configured}
			})
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")})
			w.found(w.id("n3"))
			w.until("n1 not in the index", func(states []inventory.State) bool {
				_, err := inventory.Find(states, w.id("n1"))
				return errors.Is(err, topology.ErrAbsent)
			})
			if err := w.fleet.ConfirmAbsent(w.ctx, w.id("n1").UUIDs); err == nil || errors.Is(err, topology.ErrUnknown) {
				t.Errorf("a machine outside the configured datacenters counts as absent: %v", err)
			}
		})
	}
}

func TestDatacenterInFolder(t *testing.T) {
	w := run(t, twoVCenters, quick, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = []string{"prod/dc1"}
		cfgs[1].Datacenters = []string{"dc1"}
	})
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
}

func TestMissingDatacenterMakesTheIndexIncomplete(t *testing.T) {
	w := run(t, twoVCenters, quick, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = []string{"dc2", "dc9"}
	})
	w.fleet.Follow([]inventory.Identity{w.id("n3")})
	w.found(w.id("n3"))
	_, err := inventory.Find(w.fleet.States(), identity(t, "11111111-2222-3333-4444-555555555555"))
	if !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), `datacenter "dc9"`) {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableMachinesMakeTheIndexIncomplete(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1, n2})
	w.found(n1)
	w.found(n2)
	if err := w.sim.VCenter("east").SetConnection("n2", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	w.until("n2 unknown", func(states []inventory.State) bool {
		_, err := inventory.Find(states, n2)
		if errors.Is(err, topology.ErrAbsent) {
			t.Fatalf("a machine that cannot be read counts as absent: %v", err)
		}
		return errors.Is(err, topology.ErrUnknown)
	})
}

func TestUnreadableTagsAreNoMissingTags(t *testing.T) {
	w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) {
		sim.VCenter("east").FaultREST("*", http.StatusForbidden)
	})
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	if _, err := topology.Resolve(rules, w.found(id).Paths); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "403") {
		t.Errorf("got %v", err)
	}
	if err := w.sim.VCenter("east").Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("tags read", func([]inventory.State) bool {
		_, err := topology.Resolve(rules, w.found(id).Paths)
		return err == nil
	})
}

// troubles are ways in which a vCenter can fail, and what the state says then.
var troubles = map[string]struct {
	begin func(*fleet.VCenter)
	says  string
}{
	"hangs":       {func(v *fleet.VCenter) { v.Hang() }, "no answer within"},
	"refuses":     {func(v *fleet.VCenter) { v.Refuse() }, "connection refused"},
	"drops":       {func(v *fleet.VCenter) { v.Drop() }, ""},
	"faults":      {func(v *fleet.VCenter) { v.Fault("*", &types.RuntimeFault{}) }, ""},
	"no password": {func(v *fleet.VCenter) { v.RejectPassword(); v.EndSessions() }, "rejected"},
}

func TestTroubleFromTheStartStaysItsOwn(t *testing.T) {
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			opts := quick
			opts.Timeout = 500 * time.Millisecond
			w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) { trouble.begin(sim.VCenter("east")) })
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
			if got := w.zone(w.id("w1")); got != "west/a" {
				t.Errorf("w1 is in %s", got)
			}
			w.until("east's trouble known", func(states []inventory.State) bool { return states[0].Trouble != nil })
			east := w.fleet.States()[0]
			if !strings.Contains(east.Trouble.Error(), trouble.says) || !strings.Contains(east.Trouble.Error(), `vCenter "east"`) {
				t.Errorf("trouble is %v", east.Trouble)
			}
			if _, err := inventory.Find(w.fleet.States(), w.id("n1")); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("n1: %v", err)
			}
			if err := w.fleet.ConfirmAbsent(w.ctx, w.id("n1").UUIDs); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("absence of n1: %v", err)
			}
		})
	}
}

func TestTroubleLaterKeepsTheSnapshot(t *testing.T) {
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			opts := quick
			opts.Timeout = 500 * time.Millisecond
			w := run(t, twoVCenters, opts, nil)
			id := w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.found(id)
			east := w.sim.VCenter("east")
			trouble.begin(east)
			w.until("trouble known", func(states []inventory.State) bool { return states[0].Trouble != nil })
			if got := w.zone(id); got != "east/a" {
				t.Errorf("n1 is in %s", got)
			}
			if _, err := inventory.Find(w.fleet.States(), w.id("tmpl")); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("absence is claimed: %v", err)
			}
			if name == "no password" {
				return // the same password is not tried again
			}
			if err := east.Recover(); err != nil {
				t.Fatal(err)
			}
			w.until("recovery", func(states []inventory.State) bool { return states[0].Trouble == nil })
		})
	}
}

func TestRejectedPasswordIsTriedOnce(t *testing.T) {
	sim, cfgs := simulate(t, twoVCenters)
	east := sim.VCenter("east")
	good := cfgs[0].Password
	cfgs[0].Password = config.NewPassword("wrong")
	current := make(chan config.Password, 1)
	current <- cfgs[0].Password
	asked := make(chan struct{}, 100)
	source := func(ctx context.Context, c *config.VCenter) (Credentials, error) {
		if c.Name != "east" {
			return FromFile(ctx, c)
		}
		p := <-current
		current <- p
		asked <- struct{}{}
		return Credentials{User: c.User, Password: p}, nil
	}
	f := NewFleet(cfgs, source, quick)
	changed := f.Subscribe()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for range 5 {
		<-asked
	}
	if n := east.Requests()["Login"]; n != 1 {
		t.Errorf("%d logins with a password that is rejected", n)
	}
	if trouble := f.States()[0].Trouble; trouble == nil || strings.Contains(trouble.Error(), "wrong") {
		t.Errorf("trouble is %v", trouble)
	}
	<-current
	current <- good
	for f.States()[0].Snapshot == nil {
		<-changed
	}
	if n := east.Requests()["Login"]; n != 2 {
		t.Errorf("%d logins", n)
	}
}

func TestLostSessionsAreReplaced(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	east := w.sim.VCenter("east")
	for range 3 {
		east.EndSessions()
		before := w.fleet.States()[0].Snapshot.ReadAt
		w.until("a newer snapshot", func(states []inventory.State) bool {
			return states[0].Trouble == nil && states[0].Snapshot.ReadAt.After(before) && states[0].Snapshot.Machines != nil
		})
		if got := w.zone(id); got != "east/a" {
			t.Errorf("n1 is in %s", got)
		}
	}
	if n := east.Sessions(); n > 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestRunLogsOut(t *testing.T) {
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	w.stop()
	for _, v := range w.sim.VCenters() {
		if n := v.Sessions(); n != 0 {
			t.Errorf("%s has %d sessions left", v.Name(), n)
		}
	}
}

func TestRunEndsWhileAVCenterHangs(t *testing.T) {
	w := run(t, twoVCenters, Options{Tags: true}, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	w.sim.VCenter("east").Hang()
	started := time.Now()
	w.stop()
	// The bound is the logout's own deadline, ten times over.
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := w.sim.VCenter("west").Sessions(); n != 0 {
		t.Errorf("west has %d sessions left", n)
	}
}

// TestRequestsFollowPagesNotMachines compares what start costs for few and for
// many machines.
func TestRequestsFollowPagesNotMachines(t *testing.T) {
	cost := func(count string) int {
		w := run(t, strings.ReplaceAll(`
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, tags: {zone: a}, hosts: 4}]
    vms: [{name: n, count: COUNT}]
`, "COUNT", count), Options{Tags: true}, nil)
		var ids []inventory.Identity
		for _, m := range w.sim.Machines() {
			ids = append(ids, identity(t, m.UUID))
		}
		w.fleet.Follow(ids)
		for _, id := range ids {
			w.found(id)
		}
		t.Logf("%s machines: %v", count, w.sim.VCenter("east").Requests())
		return w.sim.VCenter("east").Total()
	}
	few, many := cost("3"), cost("300")
	if few > 16 || many > few {
		t.Errorf("%d requests for 3 machines, %d for 300", few, many)
	}
}

func TestDestroyedBetweenIndexAndDetails(t *testing.T) {
	opts := quick
	opts.Interval = time.Hour
	w := run(t, twoVCenters, opts, nil)
	w.until("an index", func(states []inventory.State) bool { return states[0].Snapshot != nil && states[1].Snapshot != nil })
	n1, n2 := w.id("n1"), w.id("n2")
	if err := w.sim.VCenter("east").Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.fleet.Follow([]inventory.Identity{n1, n2})
	w.found(n2)
	w.until("n1 gone", func(states []inventory.State) bool {
		_, err := inventory.Find(states, n1)
		return errors.Is(err, topology.ErrAbsent)
	})
}
