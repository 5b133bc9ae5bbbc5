package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/test/fixture"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// start starts vCenters, and returns flags for a cluster with one Node per VM.
func start(t testing.TB, description string) (*fleet.Fleet, *Flags) {
	t.Helper()
	f := fleettest.Start(t, description)
	var nodes []v1.Node
	for _, m := range f.VMs() {
		nodes = append(nodes, waiting(m.Name, m.UUID))
	}
	return f, &Flags{Config: fleettest.WriteConfig(t, f, t.TempDir()), Kubeconfig: fixture.ServeNodes(t, nodes), Timeout: 2 * time.Minute}
}

// waiting returns an uninitialized Node.
func waiting(name, uuid string) v1.Node {
	n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	n.Status.NodeInfo.SystemUUID = uuid
	return n
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

func awaitNoSession(t *testing.T, v *fleet.VCenter) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return v.Sessions() == 0, nil })
	if err != nil {
		t.Errorf("vCenter %s has %d sessions, want none: %v", v.Name(), v.Sessions(), err)
	}
}

// Neither goroutines nor sessions remain after a success, an interruption or an invalid flag. Close is
// idempotent.
func TestCloseLeavesNothing(t *testing.T) {
	f, flags := start(t, two)
	first, err := Open(t.Context(), flags) // Opens the connections to the API server, which stay open.
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
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
	bad.Selector = "a=b=c"
	if _, err := Open(t.Context(), &bad); err == nil {
		t.Error("an invalid selector is accepted")
	}
	for _, v := range f.VCenters() {
		awaitNoSession(t, v)
	}
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead")); err != nil {
		t.Error(err)
	}
}

var errInterrupted = errors.New("interrupted")

// The vCenter is asked about a VM in a Node's record that it does not show.
func TestDeletedVMs(t *testing.T) {
	_, flags := start(t, two)
	u, err := inventory.ParseUUID("11111111-2222-3333-4444-555555555555")
	if err != nil {
		t.Fatal(err)
	}
	gone := inventory.Identity{UUIDs: []inventory.UUID{u}, Recorded: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-99999"}}
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

// Even with a long timeout, a rejected login is not retried.
func TestRejectedLoginIsNotRepeated(t *testing.T) {
	f, flags := start(t, two)
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
	if l := w.Look(w.Nodes[1]); l.Reason() != "CredentialsRejected" {
		t.Errorf("a Node in a vCenter that rejects the login: got the reason %s (%v), want CredentialsRejected", l.Reason(), l.Err)
	}
}

// A longer --timeout allows slower responses.
func TestRequestTime(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		want  time.Duration
	}{
		{Flags{Timeout: 5 * time.Second}, 15 * time.Second},
		{Flags{Timeout: time.Minute}, 20 * time.Second},
		{Flags{Timeout: 5 * time.Minute}, 100 * time.Second},
	} {
		if got := c.flags.options().Timeout; got != c.want {
			t.Errorf("--timeout %v: a request may take %v, want %v", c.flags.Timeout, got, c.want)
		}
		if got, want := c.flags.options().LoginTimeout, max(15*time.Second, c.flags.Timeout); got != want {
			t.Errorf("--timeout %v: a login may take %v, want %v", c.flags.Timeout, got, want)
		}
	}
}

// large describes vCenters with many VMs.
func large(vcenters, vms int) string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for i := range vcenters {
		fmt.Fprintf(&b, "- name: vc-%d\n  datacenters:\n  - name: dc1\n    tags: {region: r%d}\n    clusters:\n", i, i)
		for c := range 4 {
			fmt.Fprintf(&b, "    - {name: c%d, hosts: 4, tags: {zone: z%d-%d}}\n", c, i, c)
		}
		b.WriteString("    vms:\n")
		for m := range vms {
			fmt.Fprintf(&b, "    - {name: node-%d-%d, cluster: c%d}\n", i, m, m%4)
		}
	}
	return b.String()
}

// mostRequests is the maximum number of requests to one vCenter per command.
const mostRequests = 40

// The number of requests does not depend on the number of Nodes.
func TestRequests(t *testing.T) {
	for _, vms := range []int{5, 500} {
		f, flags := start(t, large(2, vms))
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
			n := v.Total() - max(v.Requests()["WaitForUpdatesEx"]-1, 0) // The number of pages depends on the speed of the host.
			t.Logf("%d VMs: %d requests to vCenter %s beside pages", vms, n, v.Name())
			if n > mostRequests {
				t.Errorf("%d VMs: vCenter %s had %d requests: %v", vms, v.Name(), v.Total(), v.Requests())
			}
		}
	}
}
