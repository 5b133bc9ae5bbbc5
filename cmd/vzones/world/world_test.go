package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// start starts vCenters, and returns flags that ask for machines in them.
func start(t testing.TB, description string) (*fleet.Fleet, *Flags) {
	t.Helper()
	f := fleettest.Start(t, description)
	file := fleettest.WriteConfig(t, f, t.TempDir())
	return f, &Flags{Need: NodesOrMachines, Config: file, Timeout: 2 * time.Minute}
}

const two = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, hosts: 1, tags: {zone: a}}]
    vms: [{name: node-1, cluster: c1}]
- name: west
  datacenters:
  - name: dc1
    tags: {region: west}
    clusters: [{name: c1, hosts: 1, tags: {zone: b}}]
    vms: [{name: node-2, cluster: c1}]
`

// awaitNoSession waits until a vCenter has no session.
func awaitNoSession(t *testing.T, v *fleet.VCenter) {
	t.Helper()
	for range 600 {
		if v.Sessions() == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("vCenter %s has %d sessions", v.Name(), v.Sessions())
}

// TestNothingIsLeft: neither a goroutine nor a session, whether a World was read, was interrupted, or
// was refused, and Close may be called again.
func TestNothingIsLeft(t *testing.T) {
	f, flags := start(t, two)
	flags.Machines = []string{"node-1", "node-2"}
	before := goleak.IgnoreCurrent()
	w, err := Open(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range w.Nodes {
		if l := w.Look(n); l.Err != nil || l.Place.Metadata == nil {
			t.Errorf("Node %s: %v", n.Name, l.Err)
		}
	}
	w.Close()
	w.Close()
	(&World{}).Close()
	f.VCenter("west").Hang()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errInterrupted)
	defer cancel()
	if _, err := Open(ctx, flags); !errors.Is(err, errInterrupted) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("interrupted: %v", err)
	}
	if err := f.VCenter("west").Recover(); err != nil {
		t.Fatal(err)
	}
	bad := *flags
	bad.UUIDs = []string{"x"}
	if _, err := Open(t.Context(), &bad); err == nil {
		t.Error("an invalid UUID is accepted")
	}
	for _, v := range f.VCenters() {
		awaitNoSession(t, v)
	}
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead")); err != nil {
		t.Error(err)
	}
}

var errInterrupted = errors.New("interrupted")

// TestMachinesThatAreGone: the vCenter is asked about a machine that a Node was found as and that it does not show.
func TestMachinesThatAreGone(t *testing.T) {
	_, flags := start(t, two)
	u, err := inventory.ParseUUID("11111111-2222-3333-4444-555555555555")
	if err != nil {
		t.Fatal(err)
	}
	gone := inventory.Identity{UUIDs: []inventory.UUID{u}, Recorded: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-99999"}}
	flags.Machines = []string{"node-1"}
	flags.Follow = func(*World) []inventory.Identity { return []inventory.Identity{gone} }
	w, err := Open(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := inventory.Find(w.States, gone); !errors.Is(err, topology.ErrAbsent) {
		t.Error(err)
	}
}

// TestRejectedLoginIsNotRepeated, however long the vCenters have.
func TestRejectedLoginIsNotRepeated(t *testing.T) {
	f, flags := start(t, two)
	flags.Machines = []string{"node-1"}
	f.VCenter("west").RejectPassword()
	w, err := Open(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	time.Sleep(3 * time.Second)
	if n := f.VCenter("west").Requests()["Login"]; n != 1 {
		t.Errorf("%d logins: %v", n, f.VCenter("west").Requests())
	}
	if w.States[0].Err != nil || w.States[1].Err == nil {
		t.Errorf("states: %v, %v", w.States[0].Err, w.States[1].Err)
	}
	if l := w.Look(w.Nodes[0]); l.Reason() != "VCenterLoginFailed" {
		t.Errorf("%s: %v", l.Reason(), l.Err)
	}
}

// TestRequestTime: a vCenter that answers slowly can be read with a longer --timeout. A watch tries it
// again, as the daemon does.
func TestRequestTime(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		want  time.Duration
	}{
		{Flags{Timeout: 5 * time.Second}, 15 * time.Second},
		{Flags{Timeout: time.Minute}, 20 * time.Second},
		{Flags{Timeout: 5 * time.Minute}, 100 * time.Second},
		{Flags{Timeout: 5 * time.Minute, Watch: true}, 0},
	} {
		if got := c.flags.options().Timeout; got != c.want {
			t.Errorf("--timeout %v: a request may take %v, want %v", c.flags.Timeout, got, c.want)
		}
		if got, want := c.flags.options().LoginTimeout, max(15*time.Second, c.flags.Timeout); got != want {
			t.Errorf("--timeout %v: a login may take %v, want %v", c.flags.Timeout, got, want)
		}
	}
}

// TestRefresh: what changes is seen, and answers given before stay.
func TestRefresh(t *testing.T) {
	f, flags := start(t, two)
	flags.Machines, flags.Watch = []string{"node-1"}, true
	w, err := Open(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	zone := func() string { return w.Look(w.Nodes[0]).Place.Placement.Value("topology.kubernetes.io/zone") }
	if err := f.VCenter("east").Retag("/dc1/host/c1", "zone", "z"); err != nil {
		t.Fatal(err)
	}
	if got := zone(); got != "a" {
		t.Errorf("before Refresh the zone is %q", got)
	}
	w.Placer.Config()
	w.fleet.ReadTags("east")
	for range 240 {
		if err := w.Wait(t.Context(), 500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if err := w.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if zone() == "z" {
			return
		}
	}
	t.Errorf("after Refresh the zone is %q", zone())
}

// large describes vCenters with many machines.
func large(vcenters, machines int) string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for i := range vcenters {
		fmt.Fprintf(&b, "- name: vc-%d\n  datacenters:\n  - name: dc1\n    tags: {region: r%d}\n    clusters:\n", i, i)
		for c := range 4 {
			fmt.Fprintf(&b, "    - {name: c%d, hosts: 4, tags: {zone: z%d-%d}}\n", c, i, c)
		}
		b.WriteString("    vms:\n")
		for m := range machines {
			fmt.Fprintf(&b, "    - {name: node-%d-%d, cluster: c%d}\n", i, m, m%4)
		}
	}
	return b.String()
}

// mostRequests is how many requests a command may send to one vCenter.
const mostRequests = 40

// TestRequests: their number is bounded, and does not depend on that of Nodes.
func TestRequests(t *testing.T) {
	for _, machines := range []int{5, 500} {
		f, flags := start(t, large(2, machines))
		for _, m := range f.Machines() {
			flags.Machines = append(flags.Machines, m.Name)
		}
		w, err := Open(t.Context(), flags)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range w.Nodes {
			if l := w.Look(n); l.Err != nil {
				t.Fatalf("Node %s: %v", n.Name, l.Err)
			}
		}
		w.Close()
		for _, v := range f.VCenters() {
			n := v.Total() - max(v.Requests()["WaitForUpdatesEx"]-1, 0) // how many pages there are depends on the machine's speed
			t.Logf("%d machines: %d requests to vCenter %s beside pages", machines, n, v.Name())
			if n > mostRequests {
				t.Errorf("%d machines: vCenter %s had %d requests: %v", machines, v.Name(), v.Total(), v.Requests())
			}
		}
	}
}
