package vcenter

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestNodesDoNotWaitForARest covers a vCenter in which VMs without a Node come and go continuously. Its polls
// are 25 s apart, but changes of Nodes' VMs are noticed much earlier.
func TestNodesDoNotWaitForARest(t *testing.T) {
	t.Parallel()
	const (
		lateUUID   = "aaaaaaaa-2222-3333-4444-555555555555"
		laterUUID  = "bbbbbbbb-2222-3333-4444-555555555555"
		searchUUID = "cccccccc-2222-3333-4444-555555555555"
	)
	// The pause is longer than until's limit.
	w := run(t, twoVCenters, Options{Requirements: Requirements{Tags: true}, PollTime: time.Hour}, nil)
	east := w.sim.VCenter("east")
	n1, n2 := w.id("n1"), w.id("n2")
	follow := func(joins string) {
		ids := []inventory.Identity{n1, n2}
		if joins != "" {
			id := identity(t, joins)
			id.IsJoining = true
			ids = append(ids, id)
		}
		w.fleet.Follow(ids)
	}
	create := func(name, uuid string) error { return east.Create("dc1", fleet.VMSpec{Name: name, UUID: uuid}) }
	is := func(id inventory.Identity, ok func(*inventory.VM) bool) func([]inventory.State) bool {
		return func(states []inventory.State) bool {
			m, err := w.find(states, id)
			return err == nil && ok(m)
		}
	}
	isFound := func(*inventory.VM) bool { return true }
	follow("")
	w.in(n1, "east/a")
	w.in(n2, "east/b")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		every(50*time.Millisecond, func(v *fleet.VCenter, n int) error {
			if n >= 5 {
				if err := v.Destroy(fmt.Sprintf("other-%d", n-5)); err != nil {
					return err
				}
			}
			return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("other-%d", n)})
		})(ctx, t, east)
	}()
	defer func() { cancel(); <-ended }()

	for _, step := range []struct {
		what string
		do   func() error
		then func([]inventory.State) bool
	}{
		{"n1 moves", func() error { return east.MoveVM("n1", "c2-host-1") }, func([]inventory.State) bool { return w.zone(n1) == "east/b" }},
		{"n1 gets another address", func() error { return east.SetIPs("n1", "10.9.9.9") },
			is(n1, func(m *inventory.VM) bool { return strings.Contains(fmt.Sprint(m.NICs), "10.9.9.9") })},
		{"n1 is switched off", func() error { return east.PowerOff("n1") }, func(states []inventory.State) bool { return w.outcome(states, n1, inventory.ErrPoweredOff) }},
		{"n2 is destroyed", func() error { return east.Destroy("n2") }, func(states []inventory.State) bool { return w.outcome(states, n2, topology.ErrAbsent) }},
		{"a Node joins whose VM has come a moment ago", func() error { follow(lateUUID); return create("late", lateUUID) }, is(identity(t, lateUUID), isFound)},
		{"a Node joins whose VM comes later", func() error {
			follow(laterUUID)
			time.Sleep(2 * time.Second)
			return create("later", laterUUID)
		}, is(identity(t, laterUUID), isFound)},
		{"a search, repeated as for a Node, of a VM that is not in the index yet", func() error { return create("searched", searchUUID) },
			func([]inventory.State) bool {
				if err := w.fleet.ConfirmAbsent(t.Context(), identity(t, searchUUID)); err == nil {
					t.Error("the search does not find the VM")
				}
				return inventory.IsIndexed(w.fleet.States(), identity(t, searchUUID))
			}},
	} {
		w.rests(east)
		if err := step.do(); err != nil {
			t.Fatalf("%s while the vCenter rests: %v", step.what, err)
		}
		began := time.Now()
		w.until(step.what, step.then)
		t.Logf("%s: known after %v", step.what, time.Since(began))
	}
}

// rests waits until polls of a vCenter pause.
func (w *world) rests(v *fleet.VCenter) {
	w.Helper()
	polls, since := -1, time.Now()
	w.until("a rest", func([]inventory.State) bool {
		if n := v.Requests()["WaitForUpdatesEx"]; n != polls {
			polls, since = n, time.Now()
		}
		return time.Since(since) > 1500*time.Millisecond // Without a pause polls are a second apart.
	})
}
