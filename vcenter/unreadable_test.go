package vcenter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// stranger is a UUID that no machine has.
const stranger = "11111111-2222-3333-4444-555555555555"

func known(id inventory.Identity, vcenter, moid string) inventory.Identity {
	id.Known = topology.Ref{VCenter: vcenter, Type: "VirtualMachine", ID: moid}
	return id
}

func (w *world) moid(machine string) string {
	w.Helper()
	m, err := w.sim.Machine(machine)
	if err != nil {
		w.Fatal(err)
	}
	return m.MoID
}

// restarted ends the sessions of east and waits for a new watch to tell of a
// change that was made meanwhile.
func (w *world) restarted() {
	w.Helper()
	east := w.sim.VCenter("east")
	polls := east.Requests()["Login"]
	before := w.fleet.States()[0].Snapshot
	east.EndSessions()
	w.until("a new watch of east", func(states []inventory.State) bool {
		return east.Requests()["Login"] > polls && states[0].Trouble == nil && states[0].Snapshot != before
	})
}

func outcome(states []inventory.State, id inventory.Identity, want ...error) bool {
	_, err := inventory.Find(states, id)
	for _, e := range want {
		if !errors.Is(err, e) {
			return false
		}
	}
	return err != nil
}

// TestAMachineThatBecomesUnreadable keeps its UUID, in this watch and the next.
func TestAMachineThatBecomesUnreadable(t *testing.T) {
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
			if outcome(states, n1, topology.ErrAbsent) || outcome(states, nobody, inventory.ErrUnreadable) {
				t.Errorf("n1 is forgotten %s", when)
			}
			return outcome(states, n1, topology.ErrUnknown, inventory.ErrUnreadable)
		})
		s := w.fleet.States()[0].Snapshot
		if entries := s.Index[n1.UUIDs[0]]; len(entries) != 1 || entries[0].ID != moid || !entries[0].Unreadable || len(s.Unreadable) > 0 {
			t.Errorf("%s: %+v, unreadable %v", when, entries, s.Unreadable)
		}
		w.until("absence of a stranger "+when, func(states []inventory.State) bool { return outcome(states, nobody, topology.ErrAbsent) })
	}
	check("while it is watched")
	for range 2 { // what is remembered is remembered again
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

// TestAMachineThatWasNeverReadable may be anybody's. What a Node says of it counts for that
// Node only.
func TestAMachineThatWasNeverReadable(t *testing.T) {
	w := run(t, twoVCenters, slow, func(sim *fleet.Fleet, _ []config.VCenter) {
		if err := sim.VCenter("east").SetConnection("n2", "orphaned"); err != nil {
			t.Fatal(err)
		}
	})
	moid := w.moid("n2")
	n2, nobody := identity(t, stranger), identity(t, "99999999-2222-3333-4444-555555555555")
	w.fleet.Follow([]inventory.Identity{n2, nobody})
	w.until("an unreadable machine", func(states []inventory.State) bool {
		return states[0].Snapshot != nil && !states[0].Snapshot.Unreadable[moid].At.IsZero()
	})
	since := w.fleet.States()[0].Snapshot.Unreadable[moid]
	doubted := func(when string) {
		t.Helper()
		w.until("doubt "+when, func(states []inventory.State) bool {
			return outcome(states, n2, inventory.ErrUnreadable) && outcome(states, nobody, inventory.ErrUnreadable)
		})
		if got := w.fleet.States()[0].Snapshot.Unreadable[moid]; got != since {
			t.Errorf("%s it is seen since %v, not %v", when, got, since)
		}
	}
	doubted("at first")
	if m := w.fleet.States()[0].Snapshot.Machines[moid]; m == nil || m.Name != "n2" {
		t.Errorf("it is not named: %+v", m)
	}
	w.restarted()
	doubted("in a new watch")

	claimed := func(when string, claimants ...inventory.Identity) {
		t.Helper()
		w.until("claimed "+when, func(states []inventory.State) bool {
			for _, id := range claimants {
				if !outcome(states, id, topology.ErrUnknown, inventory.ErrUnreadable) || !inventory.Indexed(states, id) {
					return false
				}
			}
			return true
		})
		doubted(when) // for all others
		if states := w.fleet.States(); inventory.Indexed(states, n2) || inventory.Indexed(states, nobody) {
			t.Errorf("%s: it counts for a Node that claims nothing", when)
		}
	}
	mine, his := known(n2, "east", moid), known(nobody, "east", moid)
	w.fleet.Follow([]inventory.Identity{mine, nobody})
	claimed("at first", mine)
	w.restarted()
	claimed("in a new watch", mine)
	// That one of two is wrong protects both.
	w.fleet.Follow([]inventory.Identity{mine, his})
	claimed("by two", mine, his)
	w.fleet.Follow([]inventory.Identity{mine, nobody})
	claimed("again", mine)
	// A claim on the same ID in another vCenter is none, nor is one in another instance.
	elsewhere, replaced := known(n2, "west", moid), mine
	replaced.KnownIn = "another"
	if states := w.fleet.States(); inventory.Indexed(states, elsewhere) || inventory.Indexed(states, replaced) {
		t.Error("a claim in another vCenter counts")
	}
	w.fleet.Follow([]inventory.Identity{n2, nobody})
	w.until("no claim", func(states []inventory.State) bool { return len(states[0].Snapshot.Told) == 0 })
	doubted("without the claim")
}

// TestAClaimBesideAReadableMachine adds no candidate, not even for its own Node, which
// waits.
func TestAClaimBesideAReadableMachine(t *testing.T) {
	w := run(t, twoVCenters, slow, func(sim *fleet.Fleet, _ []config.VCenter) {
		if err := sim.VCenter("east").SetConnection("n2", "inaccessible"); err != nil {
			t.Fatal(err)
		}
	})
	n1, nobody := w.id("n1"), identity(t, stranger)
	liar := known(n1, "east", w.moid("n2"))
	w.fleet.Follow([]inventory.Identity{n1, liar, nobody})
	w.until("the claim", func(states []inventory.State) bool {
		return states[0].Snapshot != nil && len(states[0].Snapshot.Told) == 1
	})
	if m := w.found(n1); m.Name != "n1" {
		t.Errorf("n1 is %s", m.Name)
	}
	states := w.fleet.States()
	if !outcome(states, liar, topology.ErrUnknown, inventory.ErrUnreadable) || outcome(states, liar, topology.ErrAmbiguous) {
		_, err := inventory.Find(states, liar)
		t.Errorf("the Node that claims it: %v", err)
	}
	if !outcome(states, nobody, inventory.ErrUnreadable) {
		t.Error("it takes the doubt from another Node")
	}
}

// TestClaimsAreNews once, and only those on machines without a UUID.
func TestClaimsAreNews(t *testing.T) {
	m := newModel("east", types.ServiceContent{}, nil)
	for _, id := range []string{"vm-1", "vm-2"} {
		m.applyIndex("f", &types.ObjectUpdate{Obj: machineRef(id)})
	}
	m.applyIndex("f", &types.ObjectUpdate{Obj: machineRef("vm-3"), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}})
	u := []inventory.UUID{{7}}
	for i, c := range []struct {
		told map[string][]inventory.UUID
		news bool
		want int
	}{
		{nil, false, 0},
		{map[string][]inventory.UUID{"vm-1": u, "vm-9": u}, true, 1},
		{map[string][]inventory.UUID{"vm-1": u}, false, 1},
		{map[string][]inventory.UUID{"vm-1": u, "vm-3": u}, false, 1},
		{map[string][]inventory.UUID{"vm-1": u, "vm-2": u}, true, 2},
		{nil, true, 0},
	} {
		if news := m.tell(c.told); news != c.news || len(m.told) != c.want {
			t.Errorf("%d: news %v, told %v", i, news, m.told)
		}
		if m.uuids(); len(m.unread) != 2 || len(m.byUUID) != 1 {
			t.Errorf("%d: what a Node says is in the index: %v, %v", i, m.byUUID, m.unread)
		}
	}
}

// TestAnotherVCenterUnderTheSameName remembers nothing: its managed object IDs
// are other machines'.
func TestAnotherVCenterUnderTheSameName(t *testing.T) {
	about := func(instance string) types.ServiceContent {
		return types.ServiceContent{About: types.AboutInfo{InstanceUuid: instance}}
	}
	enter := func(m *model, uuid string) {
		u := &types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: machineRef("vm-1")}
		if uuid != "" {
			u.ChangeSet = []types.PropertyChange{{Name: "config.uuid", Val: uuid}}
		}
		m.applyIndex("filter-1", u)
		m.uuids()
	}
	first := newModel("east", about("one"), nil)
	enter(first, stranger)
	same := newModel("east", about("one"), first)
	enter(same, "")
	if len(same.unread) > 0 || len(same.byUUID) != 1 {
		t.Errorf("the same vCenter: %v, %v", same.byUUID, same.unread)
	}
	other := newModel("east", about("two"), first)
	enter(other, "")
	if len(other.unread) != 1 || len(other.byUUID) > 0 {
		t.Errorf("another vCenter: %v, %v", other.byUUID, other.unread)
	}
}

// TestContactIsWhatThePublishedSnapshotHasSeen: sightings are dated by it. A
// snapshot that a torn change is about to replace is not renewed by its pages.
func TestContactIsWhatThePublishedSnapshotHasSeen(t *testing.T) {
	filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "index"}
	c := newConnection(&target{cfg: config.VCenter{Name: "east"}}, FromFile, timing{tagRefresh: time.Hour, observer: unobserved{}}, func() {})
	w := &watch{c: c, index: filters{filter: true}, model: newModel("east", types.ServiceContent{}, nil), listed: map[string]bool{}, missing: map[string]bool{}}
	updates := make(chan *types.UpdateSet)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- w.run(ctx, updates) }()
	send := func(set *types.UpdateSet) inventory.State {
		updates <- set
		// The next page is taken only when this one has been dealt with.
		c.wake <- struct{}{}
		c.wake <- struct{}{}
		return *c.state.Load()
	}
	page := func(more bool, moid string, kind types.ObjectUpdateKind) *types.UpdateSet {
		return &types.UpdateSet{Truncated: &more, FilterSet: []types.PropertyFilterUpdate{{
			Filter:    filter,
			ObjectSet: []types.ObjectUpdate{{Kind: kind, Obj: machineRef(moid), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}}},
		}}}
	}
	before := send(page(false, "vm-1", types.ObjectUpdateKindEnter))
	if before.Snapshot == nil || before.Contact.IsZero() {
		t.Fatalf("not published: %+v", before)
	}
	if quiet := send(nil); !quiet.Contact.After(before.Contact) || quiet.Snapshot != before.Snapshot {
		t.Errorf("an answer without a change: %v after %v", quiet.Contact, before.Contact)
	} else {
		before = quiet
	}
	for range 2 {
		if torn := send(page(true, "vm-2", types.ObjectUpdateKindEnter)); !torn.Contact.Equal(before.Contact) {
			t.Errorf("a page of a change: %v after %v", torn.Contact, before.Contact)
		}
	}
	// The rest may be nothing at all.
	updates <- nil
	updates <- nil // taken when the first has been dealt with
	if after := *c.state.Load(); !after.Contact.After(before.Contact) || len(after.Snapshot.Index[identity(t, stranger).UUIDs[0]]) != 2 {
		t.Errorf("the whole change: %v after %v", after.Contact, before.Contact)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
