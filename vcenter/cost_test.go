package vcenter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vzones/vcenter/inventory"
)

// crowd describes a vCenter with ten VMs of Nodes and others without a Node.
func crowd(others int) string {
	return fmt.Sprintf(`
vcenters:
- name: east
  fillers: %d
  datacenters:
  - name: dc1
    tags: {region: east, zone: a}
    clusters: [{name: c1, hosts: 2}]
    vms: [{name: node, count: 10, cluster: c1}]
`, others)
}

// cost is the load on a vCenter per request of a kind, independent of the duration.
type cost struct{ requests, bytes float64 }

// atRest measures the cost of n requests of a kind while nothing changes. It takes the minimum of several
// windows to exclude initial requests.
func atRest(t *testing.T, others, n int, kind string, opts Options) cost {
	t.Helper()
	w := run(t, crowd(others), opts, nil)
	defer w.stop()
	var ids []inventory.Identity
	for _, m := range w.sim.VMs() {
		ids = append(ids, identity(t, m.UUID))
	}
	w.fleet.Follow(ids)
	for _, id := range ids {
		w.in(id, "east/a")
	}
	east := w.sim.VCenter("east")
	counted := func() (count int) {
		for k, n := range east.Requests() {
			if strings.Contains(k, kind) {
				count += n
			}
		}
		return count
	}
	var least cost
	for i := range 4 {
		east.ResetRequests()
		w.until("requests of "+kind, func([]inventory.State) bool { return counted() >= n })
		count := float64(counted())
		c := cost{float64(east.Total()) / count, float64(east.Bytes()) / count}
		if i == 0 {
			least = c
		}
		least = cost{min(least.requests, c.requests), min(least.bytes, c.bytes)}
	}
	return least
}

func TestCostAtRestIsFlat(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.TagRefresh = 20 * time.Millisecond
	few, many := atRest(t, 200, 40, "list-attached-tags", opts), atRest(t, 2000, 40, "list-attached-tags", opts)
	if few.requests == 0 || few.bytes == 0 || many.requests > 1.1*few.requests || many.bytes > 1.1*few.bytes {
		t.Errorf("%+v beside 200 VMs, %+v beside 2,000", few, many)
	}
}

// TestOthersCauseNoWork checks that a vCenter reports no changes of VMs without a Node.
func TestOthersCauseNoWork(t *testing.T) {
	t.Parallel()
	w := run(t, crowd(20), slow, nil)
	node, east := w.id("node-0000"), w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{node})
	w.in(node, "east/a")
	isOff := func(states []inventory.State) bool {
		m, err := inventory.Find(states, node)
		return m == nil && errors.Is(err, inventory.ErrPoweredOff)
	}
	east.ResetRequests()
	for i := range 9 {
		vm := fmt.Sprintf("node-%04d", 1+i)
		if err := errors.Join(east.PowerOff(vm), east.SetHostName(vm, "other"), east.SetIPs(vm, "10.1.0.1"), east.MoveVM(vm, "c1-host-1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // The pause separates the changes.
	}
	if err := east.PowerOff("node-0000"); err != nil {
		t.Fatal(err)
	}
	w.until("the Node's VM off", isOff)
	if n := east.Requests()["WaitForUpdatesEx"]; n > 2 {
		t.Errorf("%d polls for one change of a Node's VM: %v", n, east.Requests())
	}
}
