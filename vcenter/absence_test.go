package vcenter

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
	"vzones/vcenter/watch"
)

func TestConfirmAbsent(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.until("both vCenters read", func(states []inventory.State) bool {
		return states[0].Snapshot != nil && states[1].Snapshot != nil
	})
	east := w.sim.VCenter("east")
	nobody := identity(t, stranger)
	const confirmed, has, unknown = "confirmed", "has it", "cannot say"
	ask := func(id inventory.Identity) string {
		switch err := w.fleet.ConfirmAbsent(w.ctx, id); {
		case err == nil:
			return confirmed
		case errors.Is(err, topology.ErrUnknown):
			return unknown
		}
		return has
	}
	// The recorded entry now has another address, and another entry has that vCenter.
	byAnother := func(entry, moid string) inventory.Identity {
		id := known(nobody, entry, moid)
		id.RecordedInstance = east.InstanceUUID()
		return id
	}
	seenByAnother := nobody
	seenByAnother.LastSeen = inventory.LastSeen{VCenter: "west", ID: w.moid("n3"), Instance: east.InstanceUUID()}
	for _, c := range []struct {
		name  string
		id    inventory.Identity
		fault string // A method without permission.
		want  string
	}{
		{"nobody's UUID", nobody, "", confirmed},
		{"a VM's UUID", w.id("n1"), "", has},
		{"a VM's UUID in the second vCenter", w.id("w1"), "", has},
		{"a template's UUID", w.id("tmpl"), "", confirmed},
		{"the object is there", known(nobody, "east", w.moid("n1")), "", has},
		{"the object is there in another vCenter", known(nobody, "west", w.moid("n3")), "", confirmed},
		{"the object is a template", known(nobody, "east", w.moid("tmpl")), "", confirmed},
		{"the object is gone", known(nobody, "east", "vm-99999"), "", confirmed},
		{"the object is there by another entry", byAnother("west", w.moid("n3")), "", has},
		{"the object was seen by another entry", seenByAnother, "", has},
		{"the object is gone by another entry", byAnother("west", "vm-99999"), "", confirmed},
		{"the object may not be seen by another entry", byAnother("west", "vm-99999"), "RetrievePropertiesEx", unknown},
		{"the object may not be seen", known(nobody, "east", "vm-99999"), "RetrievePropertiesEx", unknown},
		{"the search is not allowed", nobody, "FindAllByUuid", unknown},
		{"what the search finds may not be seen", w.id("n1"), "RetrievePropertiesEx", unknown},
	} {
		if c.fault != "" {
			east.Fault(c.fault, &types.NoPermission{})
		}
		if got := ask(c.id); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.fault != "" {
			east.Fault(c.fault, nil)
		}
	}

	// A search by UUID does not find an unreadable VM.
	n2 := known(w.id("n2"), "east", w.moid("n2"))
	if err := east.SetConnection("n2", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	if got := ask(n2); got != has {
		t.Errorf("an unreadable VM: %s", got)
	}
	// Confirming costs a few requests, to the searched vCenters only.
	east.ResetRequests()
	ask(known(nobody, "east", "vm-99999"))
	for call, n := range east.Requests() {
		if n > 1 && call != "WaitForUpdatesEx" {
			t.Errorf("%d times %s", n, call)
		}
	}
}

// TestAbsenceIsHeld checks the hold: from the first read unless the process has seen the VM, always after
// an outage, a new session or a new address, and longer while a host is disconnected.
func TestAbsenceIsHeld(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.DeletionHold = 2 * time.Second
	var a accounts
	w := runWith(t, twoVCenters, opts, a.read, nil)
	east := w.sim.VCenter("east")
	nobody := identity(t, stranger)
	seen := nobody
	seen.Seen = true
	confirmed := func([]inventory.State) bool { return w.fleet.ConfirmAbsent(w.ctx, nobody) == nil }
	held := func(why string) {
		t.Helper()
		w.until("held: "+why, func([]inventory.State) bool {
			err := w.fleet.ConfirmAbsent(w.ctx, nobody)
			return errors.Is(err, topology.ErrUnknown) && strings.Contains(err.Error(), why)
		})
	}
	watched := func(hold time.Duration) {
		t.Helper()
		for _, s := range w.fleet.States() {
			if d := time.Since(s.WatchedSince); d < hold {
				t.Errorf("an absence was confirmed when %s had been watched for %v, want at least %v", s.VCenter, d, hold)
			}
		}
	}
	held("not seen the VM since")
	w.until("both vCenters read", func(states []inventory.State) bool {
		return states[0].Snapshot != nil && states[1].Snapshot != nil
	})
	if err := w.fleet.ConfirmAbsent(w.ctx, seen); err != nil {
		t.Errorf("absence of a VM that the process has seen, after the first reading: %v, want none", err)
	}
	w.until("confirmed after the first reading", confirmed)
	watched(opts.DeletionHold)
	// After a break the hold applies even to a VM that the process has seen.
	nobody = seen
	for name, end := range map[string]func(){
		"an outage":     func() { east.Refuse(); held("it is being read"); w.do(east.Recover()) },
		"a new session": east.EndSessions,
		"other credentials": func() {
			east.SetPassword("second-example")
			a.set(east.User(), "second-example")
			w.fleet.CredentialsChanged()
		},
	} {
		end()
		held("--deletion-hold")
		w.until("confirmed after "+name, confirmed)
		watched(opts.DeletionHold)
	}

	w.do(east.LoseHost("c2-host-1"))
	east.EndSessions()
	held("host c2-host-1 is not connected")
	east.Fault("CreateContainerView", new(types.SystemError))
	held("checking whether its hosts are connected")
	w.do(east.Recover())
	w.do(east.RestoreHost("c2-host-1"))
	w.until("confirmed with all hosts", confirmed)
	w.do(east.LoseHost("c2-host-1"))
	if err := w.fleet.ConfirmAbsent(w.ctx, nobody); err != nil {
		t.Errorf("a host that is lost later: %v", err)
	}
	east.EndSessions()
	held("host c2-host-1 is not connected")
	w.until("confirmed without a host that stays away", confirmed)
}

// absenceRequests delays the requests that confirm an absence, in a front.
type absenceRequests struct {
	held    atomic.Int32
	arrived chan struct{}
	release chan struct{}
}

func holdAbsence(f *vcentertest.Front) *absenceRequests {
	a := &absenceRequests{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	f.Answer(func(_ http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "FindAllByUuid") && !strings.Contains(body, "config.template</pathSet>") {
			return false
		}
		a.held.Add(1)
		select {
		case a.arrived <- struct{}{}:
		default:
		}
		select {
		case <-a.release:
		case <-r.Context().Done():
		}
		return false
	})
	return a
}

// await waits until n requests are pending.
func (a *absenceRequests) await(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-a.arrived:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%d requests side by side, want %d", i, n)
		}
	}
}

// TestConfirmationsSideBySide checks that the requests for a VM run in parallel, that all confirmations
// together use no more requests than there are slots, and that they do not delay other requests.
func TestConfirmationsSideBySide(t *testing.T) {
	t.Parallel()
	slots := cap(watch.NewSlots())
	for _, c := range []struct{ confirmations, held int }{{1, 3}, {20, slots}} {
		sim, f, cfg := vcentertest.EastBehindFront(t)
		w := follow(t, sim, cfg, FromFile, Options{})
		w.until("read", func(states []inventory.State) bool { return states[0].Snapshot != nil })
		nobody := identity(t, stranger)
		nobody.UUIDs = append(nobody.UUIDs, nobody.UUIDs[0].Swapped())
		a := holdAbsence(f)
		var running sync.WaitGroup
		for range c.confirmations {
			running.Go(func() {
				if err := w.fleet.ConfirmAbsent(w.ctx, known(nobody, "east", "vm-99999")); err != nil {
					t.Error(err)
				}
			})
		}
		a.await(t, c.held)
		before := w.fleet.States()[0].LastContact
		w.fleet.Probe("east")
		w.until("a probe is answered", func(states []inventory.State) bool { return states[0].LastContact.After(before) })
		if n := a.held.Load(); n != int32(c.held) {
			t.Errorf("%d requests in flight, want %d", n, c.held)
		}
		close(a.release)
		running.Wait()
	}
}
