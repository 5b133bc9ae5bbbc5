package vcenter

import (
	"testing"
	"time"

	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// TestAVCenterThatHoldsNoPollOpen: one that has nothing to tell is not asked again
// and again without a pause.
func TestAVCenterThatHoldsNoPollOpen(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	id, east := w.id("n1"), w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	if err := east.AnswerOddly("WaitForUpdatesEx", fleet.OddNothing); err != nil {
		t.Fatal(err)
	}
	east.ResetRequests()
	w.do(east.MoveVM("n2", "c1-host-1"))                                                                   // which ends the poll that is open
	w.until("an answer", func([]inventory.State) bool { return east.Requests()["WaitForUpdatesEx"] >= 7 }) // after five, they are paced
	east.ResetRequests()
	limit := time.Now().Add(3 * time.Second)
	w.until("some time", func([]inventory.State) bool { return time.Now().After(limit) })
	if n := east.Requests()["WaitForUpdatesEx"]; n < 1 || n > 4 {
		t.Errorf("%d polls in 3 s", n)
	}
}
