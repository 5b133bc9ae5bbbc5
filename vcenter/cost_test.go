package vcenter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vzones/vcenter/inventory"
)

// crowd is a vCenter with ten machines of Nodes and so many that are no Nodes'.
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

// cost is what a vCenter was asked and has answered for each of some requests of a
// kind, so that it does not depend on the time that they took.
type cost struct{ requests, bytes float64 }

// atRest measures the cost of n requests of a kind while nothing changes. It is the
// least of several such windows: what is done once, at first, is not a cost at rest.
func atRest(t *testing.T, others, n int, kind string, opts Options) cost {
	t.Helper()
	w := run(t, crowd(others), opts, nil)
	defer w.stop()
	var ids []inventory.Identity
	for _, m := range w.sim.Machines() {
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

// TestCostAtRestIsFlat: at rest, machines that are no Nodes cost nothing.
func TestCostAtRestIsFlat(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.TagRefresh = 20 * time.Millisecond
	few, many := atRest(t, 200, 40, "list-attached-tags", opts), atRest(t, 2000, 40, "list-attached-tags", opts)
	if few.requests == 0 || few.bytes == 0 || many.requests > 1.1*few.requests || many.bytes > 1.1*few.bytes {
		t.Errorf("%+v beside 200 machines, %+v beside 2,000", few, many)
	}
}

// TestBytesAreCounted: with all machines in the index, what a vCenter answers grows
// with them, so that a flat figure means something.
func TestBytesAreCounted(t *testing.T) {
	t.Parallel()
	size := func(others int) int64 {
		w := run(t, crowd(others), slow, nil)
		w.until("the index", func(states []inventory.State) bool {
			return states[0].Snapshot != nil && len(states[0].Snapshot.Index) == others+10
		})
		defer w.stop()
		return w.sim.VCenter("east").Bytes()
	}
	if few, many := size(200), size(2000); many < 4*few {
		t.Errorf("%d bytes for 200 machines, %d for 2,000", few, many)
	}
}
