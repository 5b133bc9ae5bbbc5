package inventory_test

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// instances gives each vCenter of a world an instance UUID, also in the Node's records.
func (w *world) instances(states []inventory.State) {
	instance := func(vcenter string) string {
		if inventory.StateOf(states, vcenter).VCenter == "" {
			return ""
		}
		return "instance of " + vcenter
	}
	for i := range states {
		states[i].Address = states[i].VCenter + ":443"
		if states[i].Snapshot != nil {
			states[i].Snapshot.Instance = instance(states[i].VCenter)
		}
	}
	w.id.RecordedInstance = instance(w.id.Recorded.VCenter)
	w.id.LastSeen.Instance = instance(w.id.LastSeen.VCenter)
}

// split replaces the i-th vCenter of a world by two entries. Each VM is shown by both, or by one while it is outside
// or missing in the other entry.
func (w world) split(i int, r *rand.Rand) []inventory.State {
	left, right := w, w
	left.vcenters, right.vcenters = slices.Clone(w.vcenters), slices.Clone(w.vcenters)
	var a, b []vm
	for _, m := range w.vcenters[i].vms {
		beside := m
		beside.outside = true
		outside := !m.unreadable && !m.unread && !m.template && !m.secondary && r.Intn(2) == 0
		switch r.Intn(3) {
		case 0:
			a, b = append(a, m), append(b, m)
		case 1:
			a = append(a, m)
			if outside {
				b = append(b, beside)
			}
		default:
			b = append(b, m)
			if outside {
				a = append(a, beside)
			}
		}
	}
	left.vcenters[i].vms, right.vcenters[i].vms = a, b
	states, more := left.states(), right.states()
	w.instances(states)
	second := more[i]
	if second.Snapshot != nil {
		second.Snapshot.VCenter, second.Snapshot.Instance = "twin", "instance of "+second.VCenter
		for id, m := range second.Snapshot.VMs {
			m.Ref = second.Snapshot.Ref(id)
		}
	}
	second.VCenter, second.Address = "twin", states[i].Address
	return append(states, second)
}

func outcome(err error) error {
	for _, known := range []error{topology.ErrAbsent, topology.ErrUnknown, topology.ErrAmbiguous} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

// TestOneVCenterTwice checks that two entries of one vCenter, whatever each shows, give the same result as one entry
// that shows everything, in either order.
func TestOneVCenterTwice(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	seen := map[error]int{}
	property := func(w world) bool {
		i := r.Intn(len(w.vcenters))
		whole := w.states()
		w.instances(whole)
		parts := w.split(i, r)
		want, wantErr := inventory.Find(whole, w.id)
		seen[outcome(wantErr)]++
		for range 2 {
			got, err := inventory.Find(parts, w.id)
			if v := w.vcenters[i]; errors.Is(err, topology.ErrUnknown) && (v.unread || v.failing || v.incomplete) {
				continue
			}
			if !errors.Is(outcome(err), outcome(wantErr)) {
				t.Logf("%v, want %v", err, wantErr)
				return false
			}
			if want != nil && !sameVM(got.Ref, want.Ref, fmt.Sprint("vc-", i)) {
				t.Logf("%v, want %v", got.Ref, want.Ref)
				return false
			}
			slices.Reverse(parts)
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 30000, Rand: rand.New(rand.NewSource(8))}); err != nil {
		t.Error(err)
	}
	for _, outcome := range []error{nil, topology.ErrAbsent, topology.ErrUnknown, topology.ErrAmbiguous} {
		if seen[outcome] < 250 {
			t.Errorf("the worlds are one-sided: %v came %d times", outcome, seen[outcome])
		}
	}
}

func sameVM(got, want topology.Ref, split string) bool {
	return got.ID == want.ID && (got.VCenter == want.VCenter || want.VCenter == split && got.VCenter == "twin")
}

// TestOneOfTwoEntriesFails checks that a failure of one of two entries of a vCenter makes the Node neither change its
// VM nor become absent. A running VM that both entries show in its home stays found.
func TestOneOfTwoEntriesFails(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	found, stays := 0, 0
	property := func(w world) bool {
		i := r.Intn(len(w.vcenters))
		parts := w.split(i, r)
		w.instances(parts[:len(parts)-1])
		before, beforeErr := inventory.Find(parts, w.id)
		if before != nil && w.id.LastSeen.VCenter != "" {
			in := inventory.StateOf(parts, before.Ref.VCenter)
			w.id.LastSeen = inventory.LastSeen{VCenter: in.VCenter, ID: before.Ref.ID, At: in.LastContact, Instance: in.Snapshot.Instance, Name: before.Name}
		}
		which := []int{i, len(parts) - 1}[r.Intn(2)]
		parts[which] = failing(parts[which])
		if r.Intn(2) == 0 {
			parts[which].Snapshot = nil // the daemon was restarted
		}
		after, err := inventory.Find(parts, w.id)
		switch {
		case errors.Is(err, topology.ErrAbsent) && !errors.Is(beforeErr, topology.ErrAbsent):
			return false
		case errors.Is(err, topology.ErrAbsent):
			return false
		case after != nil && before != nil:
			found++
			return sameVM(after.Ref, before.Ref, fmt.Sprint("vc-", i)) || sameVM(before.Ref, after.Ref, fmt.Sprint("vc-", i))
		case len(w.id.UUIDs) == 0 || before == nil || before.Power != inventory.PowerOn || !sameVM(before.Ref, topology.Ref{VCenter: fmt.Sprint("vc-", i), ID: before.Ref.ID}, fmt.Sprint("vc-", i)):
			return true
		}
		// Not found after the failure: the remaining entry does not show the VM, or it has no home, so that every
		// vCenter must be read.
		stays++
		other := parts[i+len(parts)-1-which].Snapshot
		if other == nil || other.VMs[before.Ref.ID] == nil || slices.Contains(other.Outside, before.Ref.ID) {
			return true
		}
		last := lastFound(w.id)
		if last.ID != before.Ref.ID || last.Instance == "" || last.Instance != other.Instance {
			return true
		}
		t.Logf("%v was found before: %v", before.Ref, err)
		return strings.Contains(err.Error(), inventory.ErrUnreadable.Error())
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 60000, Rand: rand.New(rand.NewSource(10))}); err != nil {
		t.Error(err)
	}
	if stays < 50 || found < 250 {
		t.Errorf("%d VMs were found by the other entry, %d were not", found, stays)
	}
}

// TestWhichEntryCounts: the first configured entry takes precedence unless it fails, has the VM outside or cannot
// read it.
func TestWhichEntryCounts(t *testing.T) {
	good := vm{id: "vm-1", uuid: oracleUUID, on: true, name: "n1"}
	with := func(change func(*vm)) vm { m := good; change(&m); return m }
	of := func(name string, m vm) inventory.State {
		s := stateOf(name, m)
		s.Snapshot.Instance, s.Address = "i", "vc:443"
		return s
	}
	id := inventory.Identity{UUIDs: []inventory.UUID{oracleUUID}}
	for name, c := range map[string]struct {
		first, second inventory.State
		want          string
	}{
		"both":               {of("first", good), of("second", good), "first"},
		"first fails":        {failing(of("first", good)), of("second", good), "second"},
		"both fail":          {failing(of("first", good)), failing(of("second", good)), "first"},
		"first has it out":   {of("first", with(func(m *vm) { m.outside = true })), of("second", good), "second"},
		"second has it out":  {of("first", good), of("second", with(func(m *vm) { m.outside = true })), "first"},
		"first may not read": {of("first", with(func(m *vm) { m.unreadable = true })), of("second", good), "second"},
	} {
		m, err := inventory.Find([]inventory.State{c.first, c.second}, id)
		if err != nil || m.Ref.VCenter != c.want {
			t.Errorf("%s: got %v, %v, want it by %s", name, m, err, c.want)
		}
	}
	// The order in which the entries were read does not matter.
	states := []inventory.State{of("first", with(func(m *vm) { m.unread = true })), of("second", good)}
	if m, err := inventory.Find(states, id); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("the first entry has no details yet: got %v, %v, want that they are awaited", m, err)
	}
}

// TestInstanceOfAnotherVCenter: a server with the instance UUID of another vCenter takes over no Node.
func TestInstanceOfAnotherVCenter(t *testing.T) {
	east, west := stateOf("east", vm{id: "vm-1", uuid: oracleUUID, on: true}), stateOf("west", vm{id: "vm-1", uuid: oracleUUID, on: true})
	off := stateOf("west", vm{id: "vm-1", uuid: oracleUUID})
	none := stateOf("west")
	at := func(s inventory.State, address string) inventory.State {
		snapshot := *s.Snapshot
		snapshot.Instance = "i"
		s.Address, s.Snapshot = address, &snapshot
		return s
	}
	home := inventory.Identity{
		UUIDs: []inventory.UUID{oracleUUID}, Recorded: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}, RecordedInstance: "i",
	}
	renamed := home
	renamed.Recorded.VCenter = "before"
	joins := inventory.Identity{UUIDs: []inventory.UUID{oracleUUID}, IsJoining: true}
	for _, c := range []struct {
		name       string
		id         inventory.Identity
		east, west inventory.State
		vcenter    string
		err        error
	}{
		{"runs, a copy runs", home, at(east, "a"), at(west, "b"), "", topology.ErrAmbiguous},
		{"runs, a copy is off", home, at(east, "a"), at(off, "b"), "east", nil},
		{"runs, no copy", home, at(east, "a"), at(none, "b"), "east", nil},
		{"runs, and only the copy is shown", home, at(stateOf("east"), "a"), at(west, "b"), "", topology.ErrUnknown},
		{"runs, one address", home, at(east, "a"), at(west, "a"), "east", nil},
		{"renamed, a copy runs", renamed, at(east, "a"), at(west, "b"), "", inventory.ErrSharedInstance},
		{"renamed, only the copy is shown", renamed, at(stateOf("east"), "a"), at(west, "b"), "", inventory.ErrSharedInstance},
		{"renamed, one address", renamed, at(east, "a"), at(west, "a"), "east", nil},
		{"joins, a copy is off", joins, at(east, "a"), at(off, "b"), "", inventory.ErrSharedInstance},
		{"joins, only the copy is shown", joins, at(stateOf("east"), "a"), at(west, "b"), "", inventory.ErrSharedInstance},
		{"joins, one address", joins, at(east, "a"), at(none, "a"), "east", nil},
	} {
		for _, states := range [][]inventory.State{{c.east, c.west}, {c.west, c.east}} {
			m, err := inventory.Find(states, c.id)
			first := c.vcenter
			if c.err == nil && c.east.Address == c.west.Address && c.west.Snapshot.VMs["vm-1"] != nil {
				first = states[0].VCenter
			}
			if !errors.Is(err, c.err) || c.err == nil && (err != nil || m.Ref.VCenter != first) {
				t.Errorf("%s, %s first: got %v, %v, want %q, %v", c.name, states[0].VCenter, m, err, first, c.err)
			}
		}
	}
}

func TestFirst(t *testing.T) {
	state := func(name, address, instance string) inventory.State {
		s := stateOf(name)
		s.Address, s.Snapshot.Instance = address, instance
		return s
	}
	unread := func(name, address string) inventory.State { return inventory.State{VCenter: name, Address: address} }
	for _, c := range []struct {
		states []inventory.State
		want   string // entry of the last state
	}{
		{[]inventory.State{state("a", "x", "i"), state("b", "x", "i")}, "a"},
		{[]inventory.State{state("a", "x", "i"), state("b", "y", "i")}, "b"}, // a copy or an impostor

		{[]inventory.State{state("a", "x", "i"), state("b", "x", "j")}, "b"}, // perhaps a load balancer
		{[]inventory.State{unread("a", "x"), state("b", "x", "j")}, "a"},
		{[]inventory.State{unread("a", "x"), state("b", "y", "j")}, "b"},
		{[]inventory.State{state("a", "x", ""), state("b", "y", "")}, "b"},
		{[]inventory.State{state("a", "", "i"), state("b", "", "j")}, "b"},
		{[]inventory.State{state("a", "x", "i"), state("b", "x", "i"), state("c", "x", "i")}, "a"},
	} {
		last := c.states[len(c.states)-1].VCenter
		if got := inventory.FirstEntry(c.states, last); got != c.want {
			t.Errorf("of %v: got %s, want %s", c.states, got, c.want)
		}
	}
}

// TestInvisibleCategories includes accounts of one vCenter that see different categories.
func TestInvisibleCategories(t *testing.T) {
	state := func(name, instance string, hidden ...string) inventory.State {
		s := stateOf(name)
		s.Address, s.Snapshot.Instance, s.Snapshot.InvisibleCategories = instance+":443", instance, hidden
		return s
	}
	for _, c := range []struct {
		states          []inventory.State
		want, byVCenter string
	}{
		{[]inventory.State{state("a", "i", "zone", "rack"), state("b", "j", "rack")}, "[rack]", "map[a:[zone rack] b:[rack]]"},
		{[]inventory.State{state("a", "i", "zone"), state("b", "j", "rack")}, "[]", "map[a:[zone] b:[rack]]"},
		{[]inventory.State{state("a", "i", "zone"), notRead("b")}, "[]", "map[]"},
		{[]inventory.State{state("a", "i"), state("b", "i", "zone"), state("c", "j")}, "[]", "map[a:[] c:[]]"},
		{[]inventory.State{state("a", "i", "region", "zone"), state("b", "i", "zone"), state("c", "j")}, "[]", "map[a:[zone] c:[]]"},
	} {
		if got := fmt.Sprint(inventory.InvisibleCategories(c.states)); got != c.want {
			t.Errorf("of all: %s, want %s", got, c.want)
		}
		if got := fmt.Sprint(inventory.InvisibleByVCenter(c.states)); got != c.byVCenter {
			t.Errorf("of each: %s, want %s", got, c.byVCenter)
		}
	}
}
