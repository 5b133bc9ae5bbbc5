package vcenter

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch"
)

// slow are timings under which only the watch can report a change.
var slow = Options{Requirements: Requirements{Tags: true}, Timeout: patience * 5 * time.Second, TagRefresh: time.Hour, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond}

// TestABrokenConnectionKeepsTheSession checks that the session is reused, so none is left behind.
func TestABrokenConnectionKeepsTheSession(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.in(id, "east/a")
	east := w.sim.VCenter("east")
	for i := range 5 {
		east.Refuse()
		w.until("error", func(states []inventory.State) bool { return states[0].Err != nil })
		if got := w.zone(id); got != "east/a" {
			t.Errorf("while east refuses connections n1 is in %s", got)
		}
		// The change is noticed after the connection is restored.
		if err := east.Retag("c1", "zone", fmt.Sprint("z", i)); err != nil {
			t.Fatal(err)
		}
		if err := east.Recover(); err != nil {
			t.Fatal(err)
		}
		w.until("recovery", func(states []inventory.State) bool { return states[0].Err == nil })
		w.until("the new zone", func([]inventory.State) bool { return w.zone(id) == fmt.Sprint("east/z", i) })
		if err := east.Retag("c1", "zone", "a"); err != nil {
			t.Fatal(err)
		}
		w.until("the old zone", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	}
	if n := east.SOAPSessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if n := east.Requests()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestAnEmptyVCenter(t *testing.T) {
	t.Parallel()
	w := run(t, "vcenters: [{name: east, datacenters: [{name: dc}]}]", slow, nil)
	w.until("a snapshot", func(states []inventory.State) bool { return states[0].Snapshot != nil })
	_, err := w.find(w.fleet.States(), identity(t, "11111111-2222-3333-4444-555555555555"))
	if !errors.Is(err, topology.ErrAbsent) {
		t.Errorf("got %v", err)
	}
}

// TestPublishReturnsOnceTheSnapshotIsStored checks what a search for an absent VM relies on: a watch that has published a
// change has caught up, so a VM in it is found.
func TestPublishReturnsOnceTheSnapshotIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spec{cfg: config.VCenter{Name: "east"}}
		m := monitorOf(s, FromFile, Options{Observer: unobserved{}}, func(bool) {})
		snapshot := &inventory.Snapshot{VCenter: "east"}
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			(&reporter{spec: s, updates: m.updates}).Publish(t.Context(), watch.Publication{Snapshot: snapshot})
		}()
		received := <-m.updates
		synctest.Wait()
		select {
		case <-returned:
			t.Error("Publish returned before the snapshot was stored")
		default:
		}
		m.update(received)
		m.next(t.Context(), awaited{task: returned})
		if got := m.status.Load().state.Snapshot; got != snapshot {
			t.Errorf("stored %+v, want the published snapshot", got)
		}
	})
}
