package inventory

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"testing/quick"

	"vzones/topology"
)

// world is a random fleet and a Node in it. Few UUIDs and names make doubles,
// templates beside machines and swapped forms common.
type world struct {
	vcenters []vcenterSpec
	id       Identity
}

type vcenterSpec struct {
	unread, troubled, incomplete bool
	vms                          []vm
}

var oracleUUID = UUID{0x42, 0x2e, 0x49, 0x56, 0xad, 0x22, 0x11, 0x39, 0x6d, 0x72, 0x59, 0xcc, 0x8f, 0x26, 0xbc, 0x90}

func (world) Generate(r *rand.Rand, _ int) reflect.Value {
	one := func(in int) bool { return r.Intn(in) == 0 }
	var w world
	for range 1 + r.Intn(3) {
		v := vcenterSpec{unread: one(10), troubled: one(10), incomplete: one(10)}
		for i := range r.Intn(3) {
			v.vms = append(v.vms, vm{
				id:       fmt.Sprint("vm-", i),
				uuid:     []UUID{oracleUUID, oracleUUID.Swapped(), {1}, {}}[r.Intn(4)],
				name:     []string{"n1", "n2", ""}[r.Intn(3)],
				host:     []string{"n1", "n2", ""}[r.Intn(3)],
				on:       one(2),
				template: one(4),
				unread:   one(6),
			})
		}
		w.vcenters = append(w.vcenters, v)
	}
	w.id = []Identity{
		{UUIDs: []UUID{oracleUUID}, Name: "n1"},
		{UUIDs: []UUID{oracleUUID, oracleUUID.Swapped()}, Name: "n1"},
		{Name: "n1"},
	}[r.Intn(3)]
	return reflect.ValueOf(w)
}

func (w world) states() []State {
	states := make([]State, len(w.vcenters))
	for i, v := range w.vcenters {
		states[i] = stateOf(fmt.Sprint("vc-", i), v.vms...)
		if v.incomplete {
			states[i] = incomplete(states[i])
		}
		if v.unread {
			states[i].Snapshot = nil
		}
		if v.troubled {
			states[i] = troubled(states[i])
		}
	}
	return states
}

// oracle answers from the description of the fleet, not from index or names:
// it writes down every machine that could be the Node's and counts.
func (w world) oracle() (found string, outcome error) {
	complete := true
	var any, on, byHost []string
	unread := map[string]bool{}
	for i, v := range w.vcenters {
		if v.unread || v.troubled || v.incomplete {
			complete = false
		}
		if v.unread {
			continue
		}
		for _, m := range v.vms {
			ref := fmt.Sprintf("vc-%d:VirtualMachine:%s", i, m.id)
			unread[ref] = m.unread
			hostIs, nameIs := m.host == w.id.Name, m.host == "" && m.name == w.id.Name
			if m.template || len(w.id.UUIDs) > 0 && !slices.Contains(w.id.UUIDs, m.uuid) || len(w.id.UUIDs) == 0 && !hostIs && !nameIs {
				continue
			}
			any = append(any, ref)
			if m.on {
				on = append(on, ref)
			}
			if hostIs {
				byHost = append(byHost, ref)
			}
		}
	}
	right := any
	if len(w.id.UUIDs) > 0 && len(on) > 0 {
		right, complete = on, true // one that runs needs no other vCenter's word
	}
	if len(w.id.UUIDs) == 0 && len(byHost) > 0 {
		right = byHost
	}
	switch {
	case !complete:
		return "", topology.ErrUnknown
	case len(right) == 0:
		return "", topology.ErrAbsent
	case len(right) > 1:
		return "", topology.ErrAmbiguous
	case unread[right[0]]:
		return "", topology.ErrUnknown
	}
	return right[0], nil
}

func TestFindIsTheOracle(t *testing.T) {
	seen := map[error]int{}
	property := func(w world) bool {
		states := w.states()
		found, outcome := w.oracle()
		seen[outcome]++
		m, err := Find(states, w.id)
		if outcome != nil {
			return m == nil && errors.Is(err, outcome)
		}
		return err == nil && m.Ref.String() == found
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 10000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	for _, outcome := range []error{nil, topology.ErrAbsent, topology.ErrUnknown, topology.ErrAmbiguous} {
		if seen[outcome] < 250 {
			t.Errorf("the worlds are one-sided: %v came %d times", outcome, seen[outcome])
		}
	}
}

func isTemplate(states []State, ref topology.Ref) bool {
	for _, s := range states {
		if s.VCenter != ref.VCenter {
			continue
		}
		for _, entries := range s.Snapshot.Index {
			if slices.Contains(entries, Entry{ID: ref.ID, Template: true}) || slices.Contains(entries, Entry{ID: ref.ID, Template: true, PoweredOn: true}) {
				return true
			}
		}
	}
	return false
}

// TestAbsenceIsSure is the invariant that Nodes' lives hang on, on its own and
// from what Find is given: absence is said only when every vCenter was read, is
// out of trouble, is complete, and has nothing but templates. What is found is
// never one.
func TestAbsenceIsSure(t *testing.T) {
	absent := 0
	property := func(w world) bool {
		states := w.states()
		m, err := Find(states, w.id)
		if m != nil && isTemplate(states, m.Ref) {
			return false
		}
		if !errors.Is(err, topology.ErrAbsent) {
			return true
		}
		absent++
		for _, s := range states {
			if s.Snapshot == nil || s.Trouble != nil || s.Snapshot.Incomplete != nil {
				return false
			}
			for _, u := range w.id.UUIDs {
				if slices.ContainsFunc(s.Snapshot.Index[u], func(e Entry) bool { return !e.Template }) {
					return false
				}
			}
			if len(w.id.UUIDs) == 0 && slices.ContainsFunc(s.Snapshot.Names[w.id.Name], func(e NameEntry) bool { return !e.Template }) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 10000, Rand: rand.New(rand.NewSource(2))}); err != nil {
		t.Error(err)
	}
	if absent < 250 {
		t.Errorf("absence came %d times only", absent)
	}
}
