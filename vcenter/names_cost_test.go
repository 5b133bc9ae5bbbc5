package vcenter

import (
	"fmt"
	"testing"
	"time"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// manyNames are Nodes without a UUID whose machines do not exist.
func manyNames(n int) []inventory.Identity {
	ids := make([]inventory.Identity, n)
	for i := range ids {
		ids[i] = inventory.Identity{Name: fmt.Sprint("nowhere-", i)}
	}
	return ids
}

// TestNodesWithoutAUUIDCostLittle, however many there are, for however long and whoever
// registers them again and again: names are read once, and changes are reported.
func TestNodesWithoutAUUIDCostLittle(t *testing.T) {
	t.Parallel()
	const machines = 300
	opts := slow
	opts.TagRefresh = time.Second
	w := run(t, crowd(machines-10), opts, nil)
	east := w.sim.VCenter("east")
	node := w.id("node-0001")
	w.fleet.Follow([]inventory.Identity{node})
	w.in(node, "east/a")
	known := func(ids []inventory.Identity) {
		t.Helper()
		w.until("names", func(states []inventory.State) bool {
			for _, id := range ids {
				if !w.outcome(states, id, topology.ErrAbsent) {
					return false
				}
			}
			return true
		})
	}
	measure := func(what string, do func()) (fleet.Load, int64) {
		t.Helper()
		east.ResetRequests()
		do()
		load, bytes := east.Load(), east.Bytes()
		load.Requests -= load.TagReads
		t.Logf("%s: %d requests beside %d to the tagging service, %d bytes\n%v", what, load.Requests, load.TagReads, bytes, east.Requests())
		return load, bytes
	}
	first := manyNames(1)
	_, once := measure("the first Node", func() {
		w.fleet.Follow(append(first, node))
		known(first)
	})
	const refreshes = 5
	rest := func() { time.Sleep(refreshes * opts.TagRefresh) }
	if load, bytes := measure("five refreshes", rest); load.Requests > 2 || bytes > once/20 {
		t.Errorf("five refreshes cost %d requests and %d bytes; reading all names costs %d", load.Requests, bytes, once)
	}
	if load, bytes := measure("100 further Nodes, one after the other", func() {
		for i := range 100 {
			ids := manyNames(1 + i)
			w.fleet.Follow(append(ids, node))
			known(ids)
		}
	}); load.Requests > 2 || bytes > once/20 {
		t.Errorf("100 further Nodes cost %d requests and %d bytes", load.Requests, bytes)
	}
	if load, bytes := measure("a Node that comes and goes 20 times", func() {
		for range 20 {
			w.fleet.Follow([]inventory.Identity{node})
			w.until("no names", func(states []inventory.State) bool { return len(states[0].Snapshot.Names) == 0 })
			w.fleet.Follow(append(first, node))
			known(first)
		}
	}); load.Requests > 2 || bytes > once/20 {
		t.Errorf("a Node that comes and goes 20 times costs %d requests and %d bytes", load.Requests, bytes)
	}
	// Changes are reported without a request.
	w.fleet.Follow(append(first, node))
	if err := east.SetHostName("node-0002", first[0].Name); err != nil {
		t.Fatal(err)
	}
	if m := w.found(first[0]); m.Name != "node-0002" {
		t.Errorf("found %+v", m)
	}
	if err := east.Rename("node-0003", first[0].Name); err != nil {
		t.Fatal(err)
	}
	if err := east.SetHostName("node-0004", first[0].Name); err != nil {
		t.Fatal(err)
	}
	w.until("two machines", func(states []inventory.State) bool { return w.outcome(states, first[0], topology.ErrAmbiguous) })
	// The own name of one and the guest host name of the other disagree as well.
	for _, gone := range []string{"node-0002", first[0].Name} {
		if err := east.Destroy(gone); err != nil {
			t.Fatal(err)
		}
	}
	if m := w.found(first[0]); m.Name != "node-0004" {
		t.Errorf("found %+v", m)
	}
}
