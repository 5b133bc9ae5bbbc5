package inventory_test

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"testing/quick"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// world is a random fleet and a Node in it. Few UUIDs and names make doubles,
// templates beside machines and swapped forms common.
type world struct {
	vcenters []vcenterSpec
	id       inventory.Identity
}

type vcenterSpec struct {
	unread, failing, incomplete, overdue bool
	unnamed                              bool // the Node's name was not looked for yet
	contact                              int  // minutes after began
	hides                                bool // it does not say whether what it does not show is gone
	vms                                  []vm
}

var oracleUUID = inventory.UUID{0x42, 0x2e, 0x49, 0x56, 0xad, 0x22, 0x11, 0x39, 0x6d, 0x72, 0x59, 0xcc, 0x8f, 0x26, 0xbc, 0x90}

func (world) Generate(r *rand.Rand, _ int) reflect.Value {
	one := func(in int) bool { return r.Intn(in) == 0 }
	var w world
	for range 1 + r.Intn(3) {
		v := vcenterSpec{unread: one(10), failing: one(10), incomplete: one(10), overdue: one(2), unnamed: one(10), contact: 30 * r.Intn(7), hides: one(6)}
		for i := range r.Intn(3) {
			v.vms = append(v.vms, vm{
				id:       fmt.Sprint("vm-", i),
				uuid:     []inventory.UUID{oracleUUID, oracleUUID.Swapped(), {1}, {}}[r.Intn(4)],
				name:     []string{"n1", "n2", ""}[r.Intn(3)],
				host:     []string{"n1", "n2", ""}[r.Intn(3)],
				on:       one(2),
				template: one(4),
				unread:   one(6),
				outside:  one(8),
			})
			m := &v.vms[i]
			m.unreadable = !m.outside && (one(6) || m.uuid.IsZero() && one(2))
			m.since = 30*r.Intn(4) + r.Intn(3)
			m.arrived = m.unreadable && m.uuid.IsZero() && one(2)
			m.secondary = one(8)
			m.disconnected = !m.unreadable && one(6)
			m.unread = m.unread && !m.outside // an unread one is not known to be there
		}
		w.vcenters = append(w.vcenters, v)
	}
	w.id = []inventory.Identity{
		{UUIDs: []inventory.UUID{oracleUUID}, Name: "n1"},
		{UUIDs: []inventory.UUID{oracleUUID, oracleUUID.Swapped()}, Name: "n1"},
		{Name: "n1"},
	}[r.Intn(3)]
	if len(w.id.UUIDs) == 1 && one(2) {
		w.id.Recorded = topology.Ref{VCenter: fmt.Sprint("vc-", r.Intn(4)), Type: "VirtualMachine", ID: "vm-0"}
	}
	if one(2) {
		w.id.LastSeen = inventory.LastSeen{VCenter: fmt.Sprint("vc-", r.Intn(4)), ID: fmt.Sprint("vm-", r.Intn(4)), At: minute(30 * r.Intn(6)), Name: []string{"n1", "n2", ""}[r.Intn(3)]}
	}
	w.id.Running = one(3)
	return reflect.ValueOf(w)
}

func (w world) states() []inventory.State {
	states := make([]inventory.State, len(w.vcenters))
	for i, v := range w.vcenters {
		states[i] = stateOf(fmt.Sprint("vc-", i), v.vms...)
		states[i].LastContact = minute(v.contact)
		if v.incomplete {
			states[i] = incomplete(states[i])
		}
		if v.hides {
			for id, reply := range states[i].Snapshot.Homes {
				if reply == inventory.Gone {
					states[i].Snapshot.Homes[id] = inventory.Hidden
				}
			}
		}
		if v.unnamed {
			states[i] = unnamed(states[i])
		}
		if v.unread {
			states[i].Snapshot = nil
		}
		states[i].Overdue = v.overdue
		if v.failing {
			states[i] = failing(states[i])
		}
	}
	return states
}

// mayBe reports, in minutes and for one machine alone, whether a machine of the i-th
// vCenter that has no UUID may be the Node's. In the vCenter that had the Node's
// machine, only the managed object itself may be, or one that was found there after
// the Node's was last seen, unless it came before our eyes with another name. In another vCenter it
// may be the target of a move, for an hour, unless it came two minutes after the
// Node's machine was last seen, or later.
func (w world) mayBe(i int, m vm) bool {
	seen := int(w.id.LastSeen.At.Sub(began).Minutes())
	switch {
	case !m.unreadable || m.outside || !m.uuid.IsZero():
		return false
	case w.id.LastSeen.VCenter == "":
		return true
	case w.id.LastSeen.VCenter == fmt.Sprint("vc-", i) && w.id.LastSeen.ID == m.id:
		return true
	case w.id.LastSeen.VCenter == fmt.Sprint("vc-", i):
		otherwise := m.arrived && !m.unread && m.name != "" && w.id.LastSeen.Name != "" && m.name != w.id.LastSeen.Name
		return m.since > seen && !otherwise
	case m.arrived && m.since > seen+2:
		return false
	}
	return max(seen, w.vcenters[i].contact)-m.since < 60
}

// sees says whether every vCenter that may have the Node's machine was read, and
// all of its machines are told apart from it.
func (w world) sees() bool {
	configured, seen := w.id.Recorded.VCenter == "", w.id.LastSeen.VCenter == ""
	for i, v := range w.vcenters {
		if v.unread || v.failing || v.incomplete || v.unnamed && len(w.id.UUIDs) == 0 {
			return false
		}
		configured = configured || w.id.Recorded.VCenter == fmt.Sprint("vc-", i)
		seen = seen || w.id.LastSeen.VCenter == fmt.Sprint("vc-", i)
		for _, m := range v.vms {
			if w.mayBe(i, m) {
				return false
			}
		}
	}
	return configured && seen
}

// protected reports whether a Fault Tolerance secondary has the UUID, which is
// about to take over where its primary is gone.
func (w world) protected() bool {
	for _, v := range w.vcenters {
		for _, m := range v.vms {
			if !v.unread && m.isSecondary() && !m.outside && slices.Contains(w.id.UUIDs, m.uuid) && w.gone() {
				return true
			}
		}
	}
	return false
}

// gone reports whether nothing fits that can be a Node's.
func (w world) gone() bool {
	for _, v := range w.vcenters {
		for _, m := range v.vms {
			if w.fits(m) && !v.unread {
				return false
			}
		}
	}
	return true
}

// fits says whether a machine has what the Node says of its machine.
func (w world) fits(m vm) bool {
	switch {
	case len(w.id.UUIDs) > 0:
		// Details do not say what is a template.
		return slices.Contains(w.id.UUIDs, m.uuid) && (!m.template && !m.isSecondary() || m.outside)
	case m.template || m.isSecondary() || m.outside:
		return false
	}
	return m.host == w.id.Name || m.name == w.id.Name
}

// oracle answers from the description of the fleet, not from index or names: it writes down every
// machine that could be the Node's and counts.
func (w world) oracle() (found string, outcome error) {
	var all, on, may, wasOff, homes []string
	for _, was := range lastFound(w.id) {
		homes = append(homes, fmt.Sprintf("%s:VirtualMachine:%s", was.VCenter, was.ID))
	}
	unusable, unread, off := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, v := range w.vcenters {
		for _, m := range v.vms {
			if v.unread || !w.fits(m) {
				continue
			}
			ref := fmt.Sprintf("vc-%d:VirtualMachine:%s", i, m.id)
			unusable[ref] = m.unread || m.unreadable || m.outside
			unread[ref] = m.unread
			all = append(all, ref)
			off[ref] = !m.on && !m.unread
			switch isUnknown := m.unreadable || m.disconnected; {
			case m.on && !m.unread && !isUnknown:
				on, may = append(on, ref), append(may, ref)
			case m.on || m.unread:
				may = append(may, ref)
			case isUnknown && len(homes) == 0:
				wasOff = append(wasOff, ref)
			}
		}
	}
	right := all
	byUUID := len(w.id.UUIDs) > 0
	if byUUID && len(may) > 0 {
		right = slices.Concat(may, wasOff)
	}
	unknown := !w.sees() || w.protected()
	switch {
	case !byUUID:
	case len(right) == 1 && slices.Contains(homes, right[0]):
		unknown = false
	case len(on) > 0 && len(right) > 1:
		unknown = w.keepsHome()
	case len(on) == 1 && len(homes) > 0:
		unknown = w.keepsHome() || slices.ContainsFunc(w.vcenters, func(v vcenterSpec) bool { return v.unread || v.failing })
	case len(on) == 1:
		unknown = slices.ContainsFunc(w.vcenters, func(v vcenterSpec) bool { return v.unread && !v.failing && !v.overdue })
	case len(all) == 1:
		unknown = unknown || len(homes) > 0
	default:
		unknown = unknown || w.keepsHome()
	}
	switch {
	case unknown:
		return "", topology.ErrUnknown
	case len(right) == 0:
		return "", topology.ErrAbsent
	case len(right) > 1 && slices.ContainsFunc(right, func(ref string) bool { return unread[ref] }):
		return "", topology.ErrUnknown
	case len(right) > 1:
		return "", topology.ErrAmbiguous
	case unusable[right[0]]:
		return "", topology.ErrUnknown
	case !slices.Contains(on, right[0]) && !slices.Contains(homes, right[0]) && (byUUID && len(homes) > 0 || w.id.Running && off[right[0]]):
		return "", topology.ErrUnknown
	}
	return right[0], nil
}

// keepsHome reports whether the Node's machine may still be one that it was found as: its vCenter
// cannot be read, does not show it and has not said that it is gone, or shows it and not whether it runs.
func (w world) keepsHome() bool {
	for _, was := range lastFound(w.id) {
		for i, v := range w.vcenters {
			if fmt.Sprint("vc-", i) != was.VCenter {
				continue
			}
			if v.unread || v.failing || v.incomplete {
				return true
			}
			at := slices.IndexFunc(v.vms, func(m vm) bool { return m.id == was.ID })
			if at < 0 {
				if v.hides {
					return true
				}
				continue
			}
			m := v.vms[at]
			can := m.outside || !m.template && !m.isSecondary()
			if (m.unreadable && m.uuid.IsZero()) || can && (m.unreadable || m.unread || m.disconnected) && slices.Contains(w.id.UUIDs, m.uuid) {
				return true
			}
		}
	}
	return false
}

// TestFindIsTheOracle: no error is two of the outcomes, which callers tell apart with errors.Is.
func TestFindIsTheOracle(t *testing.T) {
	seen := map[error]int{}
	property := func(w world) bool {
		states := w.states()
		found, outcome := w.oracle()
		seen[outcome]++
		m, err := inventory.Find(states, w.id)
		for _, other := range []error{topology.ErrAbsent, topology.ErrUnknown, topology.ErrAmbiguous} {
			if errors.Is(err, other) != errors.Is(outcome, other) {
				return false
			}
		}
		return outcome != nil && m == nil || err == nil && m.Ref.String() == found
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 13000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	for _, outcome := range []error{nil, topology.ErrAbsent, topology.ErrUnknown, topology.ErrAmbiguous} {
		if seen[outcome] < 250 {
			t.Errorf("the worlds are one-sided: %v came %d times", outcome, seen[outcome])
		}
	}
}

// TestAbsenceIsSure is the invariant that Nodes' lives hang on, on its own and
// from the description of the fleet: absence is said only when every vCenter was
// read, is not failing, is complete, and has nothing that fits but templates;
// when nothing is there that has no UUID and did not stand beside the Node's
// machine; and when the vCenter that had the machine is still configured. What is
// found is never a template, outside, or unreadable, and fits.
func TestAbsenceIsSure(t *testing.T) {
	absent := map[string]int{}
	property := func(w world) bool {
		m, err := inventory.Find(w.states(), w.id)
		if m != nil && !w.mayBeFound(m.Ref) {
			return false
		}
		if !errors.Is(err, topology.ErrAbsent) {
			return true
		}
		absent["in all"]++
		for i, v := range w.vcenters {
			if v.unread || v.failing || v.incomplete || v.unnamed && len(w.id.UUIDs) == 0 {
				return false
			}
			for _, m := range v.vms {
				if w.fits(m) || w.mayBe(i, m) {
					return false
				}
				if m.isSecondary() && !m.outside && slices.Contains(w.id.UUIDs, m.uuid) {
					return false
				}
				if m.arrived && w.id.LastSeen.VCenter != fmt.Sprint("vc-", i) {
					absent["beside one that came to another vCenter"]++
				}
				if m.unreadable && m.uuid.IsZero() {
					absent["beside an unreadable machine"]++
				}
			}
		}
		last := fmt.Sprint("vc-", len(w.vcenters)-1)
		if w.id.Recorded.VCenter != "" {
			absent["of a machine known before"]++
		}
		return w.id.Recorded.VCenter <= last && w.id.LastSeen.VCenter <= last
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 60000, Rand: rand.New(rand.NewSource(2))}); err != nil {
		t.Error(err)
	}
	for _, how := range []string{"in all", "beside an unreadable machine", "beside one that came to another vCenter", "of a machine known before"} {
		if absent[how] < 50 {
			t.Errorf("absence %s came %d times only", how, absent[how])
		}
	}
}

func (w world) mayBeFound(ref topology.Ref) bool {
	for i, v := range w.vcenters {
		for _, m := range v.vms {
			if fmt.Sprint("vc-", i) == ref.VCenter && m.id == ref.ID {
				return w.fits(m) && !m.template && !m.secondary && !m.outside && !m.unreadable && !m.unread
			}
		}
	}
	return false
}
