package vcenter

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// TestAskHome checks the replies about VMs that the vCenter does not show, with one request for each.
func TestAskHome(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, func(_ *fleet.Fleet, vcenters []config.VCenter) { vcenters[0].Datacenters = []string{"/prod/dc1"} })
	w.until("read", func(states []inventory.State) bool { return states[0].Snapshot != nil })
	hidden, gone, outside, other, template := w.moid("n1"), "vm-99999", w.moid("n3"), w.moid("n2"), w.moid("tmpl")
	east := w.sim.VCenter("east")
	if err := east.Hide("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("it is not shown", func(states []inventory.State) bool { return len(states[0].Snapshot.Entries(w.id("n1").UUIDs[0])) == 0 })
	east.ResetRequests()
	askAll := func() {
		for _, id := range []string{hidden, gone, outside, other, template} {
			w.fleet.AskHome("east", id)
		}
	}
	askAll()
	want := map[string]inventory.Reply{hidden: inventory.Hidden, gone: inventory.Gone, outside: inventory.Present, other: inventory.Different, template: inventory.Different}
	w.until("all replies are there", func(states []inventory.State) bool { return len(states[0].Snapshot.Homes) == len(want) })
	for id, reply := range w.fleet.States()[0].Snapshot.Homes {
		if reply != want[id] {
			t.Errorf("of %s it says %v, want %v", id, reply, want[id])
		}
	}
	// A fault of another kind is no evidence.
	east.Fault("RetrievePropertiesEx", &types.RuntimeFault{})
	askAll()
	w.fleet.AskHome("east", "vm-88888")
	w.until("a fault", func(states []inventory.State) bool { return states[0].Snapshot.Homes["vm-88888"] == inventory.Hidden })
	if n := east.Requests()["RetrievePropertiesEx"]; n > len(want)+1 {
		t.Errorf("%d requests about %d VMs", n, len(want)+1)
	}
	east.Fault("RetrievePropertiesEx", nil)

	w.fleet.AskHome("nobody", gone)
	if w.fleet.States()[1].Snapshot.Homes != nil {
		t.Error("the other vCenter was asked too")
	}
}
