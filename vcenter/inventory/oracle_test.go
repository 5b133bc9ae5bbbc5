package inventory_test

import (
	"errors"
	"fmt"
	"math/rand"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"testing/quick"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// world is a random fleet with a Node. It has few UUIDs and names, so that duplicates, templates beside VMs and
// swapped UUIDs are common.
type world struct {
	vcenters []vcenterSpec
	id       inventory.Identity
}

type vcenterSpec struct {
	unread, failing, incomplete, overdue bool
	unnamed                              bool // the Node's name was not searched for yet
	contact                              int  // minutes after began
	hides                                bool // it does not report whether a home is gone
	vms                                  []vm
}

var oracleUUID = inventory.UUID{0x42, 0x2e, 0x49, 0x56, 0xad, 0x22, 0x11, 0x39, 0x6d, 0x72, 0x59, 0xcc, 0x8f, 0x26, 0xbc, 0x90}

func (world) Generate(r *rand.Rand, _ int) reflect.Value {
	oneIn := func(in int) bool { return r.Intn(in) == 0 }
	var w world
	for range 1 + r.Intn(3) {
		v := vcenterSpec{unread: oneIn(10), failing: oneIn(10), incomplete: oneIn(10), overdue: oneIn(2), unnamed: oneIn(10), contact: 30 * r.Intn(7), hides: oneIn(6)}
		for i := range r.Intn(3) {
			v.vms = append(v.vms, vm{
				id:       fmt.Sprint("vm-", i),
				uuid:     []inventory.UUID{oracleUUID, oracleUUID.Swapped(), {1}, {}}[r.Intn(4)],
				name:     []string{"n1", "n2", ""}[r.Intn(3)],
				host:     []string{"n1", "n2", ""}[r.Intn(3)],
				on:       oneIn(2),
				template: oneIn(4),
				unread:   oneIn(6),
				outside:  oneIn(8),
			})
			m := &v.vms[i]
			m.unreadable = !m.outside && (oneIn(6) || m.uuid.IsZero() && oneIn(2))
			m.since = 30*r.Intn(4) + r.Intn(3)
			m.arrived = m.unreadable && m.uuid.IsZero() && oneIn(2)
			m.secondary = oneIn(8)
			m.disconnected = !m.unreadable && oneIn(6)
			m.instance, m.address = byte(r.Intn(3)), []string{"", "10.0.0.1", "10.0.0.2"}[r.Intn(3)]
			m.unread = m.unread && !m.outside
		}
		w.vcenters = append(w.vcenters, v)
	}
	w.id = []inventory.Identity{
		{UUIDs: []inventory.UUID{oracleUUID}, Name: "n1"},
		{UUIDs: []inventory.UUID{oracleUUID, oracleUUID.Swapped()}, Name: "n1"},
		{Name: "n1"},
	}[r.Intn(3)]
	if len(w.id.UUIDs) == 1 && oneIn(2) {
		w.id.Recorded = topology.Ref{VCenter: fmt.Sprint("vc-", r.Intn(4)), Type: "VirtualMachine", ID: "vm-0"}
	}
	if oneIn(2) {
		w.id.LastSeen = inventory.LastSeen{VCenter: fmt.Sprint("vc-", r.Intn(4)), ID: fmt.Sprint("vm-", r.Intn(4)), At: minute(30 * r.Intn(6)), Name: []string{"n1", "n2", ""}[r.Intn(3)]}
	}
	w.id.RecordedVM, w.id.LastSeen.VM = inventory.UUID{byte(r.Intn(3))}, inventory.UUID{byte(r.Intn(3))}
	if oneIn(2) {
		w.id.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	}
	w.id.IsJoining, w.id.OutlivedHome = oneIn(3), oneIn(4)
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

// mayBe reports, in minutes, whether an unreadable VM of the i-th vCenter may be the Node's VM. In the vCenter that
// had the Node's VM, it is the same managed object, or was found later without a different name on its arrival. In
// another vCenter, it is the target of a move for an hour, unless it arrived more than two minutes after the
// Node's VM was last seen.
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

// sees reports whether every vCenter that may have the Node's VM was read, and no VM in it is uncertain.
func (w world) sees() bool {
	home := lastFound(w.id).VCenter
	configured := home == ""
	for i, v := range w.vcenters {
		if v.unread || v.failing || v.incomplete || v.unnamed && len(w.id.UUIDs) == 0 {
			return false
		}
		configured = configured || home == fmt.Sprint("vc-", i)
		for _, m := range v.vms {
			if w.mayBe(i, m) {
				return false
			}
		}
	}
	return configured
}

// protected reports whether a Fault Tolerance secondary has the UUID. Without its primary, it is about to take over.
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

// gone reports whether no eligible VM fits.
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

// fits reports whether a VM has the UUID or name of the Node.
func (w world) fits(m vm) bool {
	switch {
	case len(w.id.UUIDs) > 0:
		// Details do not show whether a VM is a template.
		return slices.Contains(w.id.UUIDs, m.uuid) && (!m.template && !m.isSecondary() || m.outside)
	case m.template || m.isSecondary() || m.outside:
		return false
	}
	return m.host == w.id.Name || m.name == w.id.Name
}

// candidate is a VM that fits the Node.
type candidate struct {
	vm
	ref     string
	failing bool
}

// mayRun reports whether the VM is neither off nor was off before its host was disconnected.
func (c candidate) mayRun() bool { return c.on || c.unread }

func (c candidate) runs() bool { return c.on && !c.unread && !c.unreadable && !c.disconnected }

func (c candidate) wasOff() bool { return !c.mayRun() && (c.unreadable || c.disconnected) }

// isSame reports whether the VM has the home's instance UUID or an address of the Node.
func (w world) isSame(c candidate, home inventory.LastSeen) bool {
	hasAddress := len(w.id.Addresses) > 0 && c.address == w.id.Addresses[0].String()
	return home.VM != inventory.UUID{} && home.VM == inventory.UUID{c.instance} || hasAddress
}

// one is the answer if exactly one VM applies, several if more than one does.
func one(c candidate) (string, error) {
	if c.unread || c.unreadable || c.outside {
		return "", topology.ErrUnknown
	}
	return c.ref, nil
}

func several(all []candidate) (string, error) {
	if slices.ContainsFunc(all, func(c candidate) bool { return c.unread }) {
		return "", topology.ErrUnknown
	}
	return "", topology.ErrAmbiguous
}

// oracle answers from the description of the fleet without index or names: it lists every VM that may be the Node's,
// and follows the table of the package comment.
func (w world) oracle() (string, error) {
	was := lastFound(w.id)
	homeRef := fmt.Sprintf("%s:VirtualMachine:%s", was.VCenter, was.ID)
	hasHome := was.VCenter != ""
	var all, others, mayRun []candidate
	var home *candidate
	readable := true
	for i, v := range w.vcenters {
		readable = readable && !v.unread && !v.failing
		for _, m := range v.vms {
			if v.unread || !w.fits(m) {
				continue
			}
			c := candidate{vm: m, ref: fmt.Sprintf("vc-%d:VirtualMachine:%s", i, m.id), failing: v.failing}
			all = append(all, c)
			if hasHome && c.ref == homeRef {
				home = &c
				continue
			}
			others = append(others, c)
			if c.mayRun() {
				mayRun = append(mayRun, c)
			}
		}
	}
	sees := w.sees() && !w.protected()
	switch {
	case len(w.id.UUIDs) == 0:
		return w.oracleByName(all, sees)
	case home == nil && hasHome && w.mayHideHome():
		return "", topology.ErrUnknown
	case home != nil && len(mayRun) > 0 && (home.failing || home.unread || home.unreadable || home.disconnected):
		return "", topology.ErrUnknown
	case !hasHome || w.id.IsJoining:
		return w.oracleWithoutHome(all, hasHome, homeRef, sees, readable)
	case home != nil && len(mayRun) == 0:
		return one(*home)
	case home != nil && home.runs():
		return several(append(mayRun, *home))
	case len(mayRun) > 1:
		return several(mayRun)
	case len(mayRun) == 1:
		removed := was.VCenter >= fmt.Sprint("vc-", len(w.vcenters))
		other := mayRun[0]
		if other.runs() && readable && (removed || w.isSame(other, was) || home != nil && w.id.OutlivedHome) {
			return one(other)
		}
		return "", topology.ErrUnknown
	case len(others) == 0 && sees:
		return "", topology.ErrAbsent
	}
	return "", topology.ErrUnknown
}

func (world) oracleByName(all []candidate, sees bool) (string, error) {
	switch {
	case !sees:
		return "", topology.ErrUnknown
	case len(all) == 0:
		return "", topology.ErrAbsent
	case len(all) > 1:
		return several(all)
	case !all[0].mayRun():
		return "", topology.ErrUnknown
	}
	return one(all[0])
}

func (w world) oracleWithoutHome(all []candidate, hasHome bool, homeRef string, sees, readable bool) (string, error) {
	var mayRun, certain []candidate
	for _, c := range all {
		if c.mayRun() {
			mayRun = append(mayRun, c)
		}
		if c.runs() {
			certain = append(certain, c)
		}
	}
	if len(mayRun) > 0 {
		for _, c := range all {
			if c.wasOff() {
				mayRun = append(mayRun, c)
			}
		}
	}
	elsewhere := func(c candidate) bool { return hasHome && c.ref != homeRef }
	pending := func(v vcenterSpec) bool { return v.unread && !v.failing && !v.overdue }
	switch {
	case len(all) == 0 && sees:
		return "", topology.ErrAbsent
	case len(mayRun) == 0:
		return "", topology.ErrUnknown
	case len(certain) > 0 && len(mayRun) > 1:
		return several(mayRun)
	case len(certain) == 1 && elsewhere(certain[0]) && !readable, len(certain) == 1 && slices.ContainsFunc(w.vcenters, pending):
		return "", topology.ErrUnknown
	case len(certain) == 1:
		return one(certain[0])
	case !sees:
		return "", topology.ErrUnknown
	case len(mayRun) > 1:
		return several(mayRun)
	case elsewhere(mayRun[0]):
		return "", topology.ErrUnknown
	}
	return one(mayRun[0])
}

// mayHideHome reports whether the home may exist although no snapshot shows it: its vCenter cannot be read, or has
// not reported it as gone.
func (w world) mayHideHome() bool {
	was := lastFound(w.id)
	for i, v := range w.vcenters {
		if fmt.Sprint("vc-", i) != was.VCenter {
			continue
		}
		if v.unread || v.failing || v.incomplete {
			return true
		}
		at := slices.IndexFunc(v.vms, func(m vm) bool { return m.id == was.ID })
		if at < 0 {
			return v.hides
		}
		return v.vms[at].unreadable && v.vms[at].uuid.IsZero()
	}
	return false
}

// TestFindIsTheOracle also checks that each error has exactly one outcome, because callers use errors.Is.
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

// TestAbsenceIsSure checks absence, on which the deletion of Nodes depends, with a second description: every vCenter
// was read completely and does not fail, nothing but templates fits, every unreadable VM existed beside the Node's
// VM, and the vCenter that had it is still configured. A found VM fits and is readable, no template and not outside.
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
					absent["beside an unreadable VM"]++
				}
			}
		}
		last := fmt.Sprint("vc-", len(w.vcenters)-1)
		if w.id.Recorded.VCenter != "" {
			absent["of a VM known before"]++
		}
		return lastFound(w.id).VCenter <= last
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 60000, Rand: rand.New(rand.NewSource(2))}); err != nil {
		t.Error(err)
	}
	for _, how := range []string{"in all", "beside an unreadable VM", "beside one that came to another vCenter", "of a VM known before"} {
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
