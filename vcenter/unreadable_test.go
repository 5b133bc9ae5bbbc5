package vcenter

import (
	"errors"
	"testing"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// stranger is a UUID without a VM.
const stranger = "11111111-2222-3333-4444-555555555555"

func known(id inventory.Identity, vcenter, moid string) inventory.Identity {
	id.Recorded = topology.Ref{VCenter: vcenter, Type: "VirtualMachine", ID: moid}
	return id
}

func (w *world) moid(vm string) string {
	w.Helper()
	m, err := w.sim.VM(vm)
	if err != nil {
		w.Fatal(err)
	}
	return m.MoID
}

// restarted ends east's sessions and waits until a new watch reports a change.
func (w *world) restarted() {
	w.Helper()
	east := w.sim.VCenter("east")
	polls := east.Requests()["Login"]
	before := w.fleet.States()[0].Snapshot
	east.EndSessions()
	w.until("a new watch of east", func(states []inventory.State) bool {
		return east.Requests()["Login"] > polls && states[0].Err == nil && states[0].Snapshot != before
	})
}

func (w *world) outcome(states []inventory.State, id inventory.Identity, want ...error) bool {
	_, err := w.find(states, id)
	for _, e := range want {
		if !errors.Is(err, e) {
			return false
		}
	}
	return err != nil
}

// TestAVMThatBecomesUnreadable keeps its UUID, in this watch and the next.
func TestAVMThatBecomesUnreadable(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	n1, nobody := w.id("n1"), identity(t, stranger)
	moid := w.moid("n1")
	w.fleet.Follow([]inventory.Identity{n1, nobody})
	w.found(n1)
	east := w.sim.VCenter("east")
	if err := east.SetConnection("n1", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		w.until("n1 unreadable "+when, func(states []inventory.State) bool {
			if w.outcome(states, n1, topology.ErrAbsent) || w.outcome(states, nobody, inventory.ErrUnreadable) {
				t.Errorf("n1 is forgotten %s", when)
			}
			return w.outcome(states, n1, topology.ErrUnknown, inventory.ErrUnreadable)
		})
		s := w.fleet.States()[0].Snapshot
		if entries := s.Entries(n1.UUIDs[0]); len(entries) != 1 || entries[0].ID != moid || !entries[0].Unreadable || len(s.Unreadable) > 0 {
			t.Errorf("%s: %+v, unreadable %v", when, entries, s.Unreadable)
		}
		w.until("absence of a stranger "+when, func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
	}
	check("while it is watched")
	for range 2 { // The memory must survive twice.
		w.restarted()
		check("in a new watch")
	}
	if err := east.SetConnection("n1", "connected"); err != nil {
		t.Fatal(err)
	}
	if m := w.found(n1); m.Ref.ID != moid {
		t.Errorf("found %+v", m)
	}
}

// TestAVMThatWasNeverReadable may belong to any Node. A Node's record applies to that Node only.
func TestAVMThatWasNeverReadable(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, func(sim *fleet.Fleet, _ []config.VCenter) {
		if err := sim.VCenter("east").SetConnection("n2", "orphaned"); err != nil {
			t.Fatal(err)
		}
	})
	moid := w.moid("n2")
	n2, nobody := identity(t, stranger), identity(t, "99999999-2222-3333-4444-555555555555")
	w.fleet.Follow([]inventory.Identity{n2, nobody})
	w.until("an unreadable VM", func(states []inventory.State) bool {
		return states[0].Snapshot != nil && !states[0].Snapshot.Unreadable[moid].At.IsZero()
	})
	since := w.fleet.States()[0].Snapshot.Unreadable[moid]
	doubted := func(when string) {
		t.Helper()
		w.until("doubt "+when, func(states []inventory.State) bool {
			return w.outcome(states, n2, inventory.ErrUnreadable) && w.outcome(states, nobody, inventory.ErrUnreadable)
		})
		if got := w.fleet.States()[0].Snapshot.Unreadable[moid]; got != since {
			t.Errorf("%s it is seen since %v, not %v", when, got, since)
		}
	}
	doubted("at first")
	if m := w.fleet.States()[0].Snapshot.VMs[moid]; m == nil || m.Name != "n2" {
		t.Errorf("it is not named: %+v", m)
	}
	w.restarted()
	doubted("in a new watch")

	claimed := func(when string, claimant inventory.Identity) {
		t.Helper()
		w.until("claimed "+when, func(states []inventory.State) bool {
			return w.outcome(states, claimant, topology.ErrUnknown, inventory.ErrUnreadable) && inventory.IsIndexed(states, claimant)
		})
		doubted(when) // For all other Nodes.
		if states := w.fleet.States(); inventory.IsIndexed(states, n2) || inventory.IsIndexed(states, nobody) {
			t.Errorf("%s: it counts for a Node that claims nothing", when)
		}
	}
	mine := known(n2, "east", moid)
	w.fleet.Follow([]inventory.Identity{mine, nobody})
	claimed("at first", mine)
	w.restarted()
	claimed("in a new watch", mine)
	w.fleet.Follow([]inventory.Identity{n2, nobody})
	w.until("no claim", func(states []inventory.State) bool { return len(states[0].Snapshot.Recorded) == 0 })
	doubted("without the claim")
}

// TestTheSummaryShowsTheUUID of VMs whose configuration was never readable, even if there are more than the
// watch can follow at once.
func TestTheSummaryShowsTheUUID(t *testing.T) {
	t.Parallel()
	const description = `
vcenters:
- name: east
  datacenters:
  - {name: dc, clusters: [{name: c, hosts: 1}], vms: [{name: ill, count: 25, unreadable: true}]}
`
	uuids := map[string]string{}
	w := run(t, description, slow, func(sim *fleet.Fleet, _ []config.VCenter) {
		for i, m := range sim.VMs() {
			uuids[m.Name] = identity(t, stranger).UUIDs[0].String()[:34] + string([]byte{'a' + byte(i%6), '0' + byte(i/6)})
			if err := sim.VCenter("east").SetSummaryUUID(m.Name, uuids[m.Name]); err != nil {
				t.Fatal(err)
			}
		}
	})
	nobody := identity(t, "99999999-2222-3333-4444-555555555555")
	w.fleet.Follow([]inventory.Identity{nobody})
	w.until("absence of a stranger", func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
	states := w.fleet.States()
	for name, uuid := range uuids {
		if id := identity(t, uuid); !w.outcome(states, id, topology.ErrUnknown, inventory.ErrUnreadable) {
			_, err := w.find(states, id)
			t.Errorf("Find of VM %s, which cannot be read: error %v, want an unknown ErrUnreadable", name, err)
		}
	}
}
