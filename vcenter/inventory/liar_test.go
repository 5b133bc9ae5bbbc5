package inventory_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A liar is a world in which the kubelets of other Nodes claim VMs of all kinds in the annotation.
type liar struct {
	world
	seed int64
}

func (liar) Generate(r *rand.Rand, size int) reflect.Value {
	w, _ := world{}.Generate(r, size).Interface().(world)
	return reflect.ValueOf(liar{w, r.Int63()})
}

// lied returns the states including these claims. Only unreadable VMs and VMs outside can be claimed.
func (l liar) lied() []inventory.State {
	r := rand.New(rand.NewSource(l.seed))
	states := l.states()
	for i, v := range l.vcenters {
		s := states[i].Snapshot
		if s == nil {
			continue
		}
		s.Recorded = map[string]inventory.Entry{}
		for _, m := range v.vms {
			_, unknown := s.Unreadable[m.id]
			if (unknown || m.outside) && r.Intn(2) == 0 {
				s.Recorded[m.id] = inventory.Entry{ID: m.id, Unreadable: unknown, Template: unknown && m.template}
			}
		}
	}
	return states
}

// honest returns the same states without the claims of other Nodes.
func (l liar) honest() []inventory.State {
	states := l.lied()
	mine := func(vcenter, id string) bool {
		return l.id.Recorded == topology.Ref{VCenter: vcenter, Type: "VirtualMachine", ID: id}
	}
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		maps.DeleteFunc(s.Snapshot.Recorded, func(id string, _ inventory.Entry) bool { return !mine(s.VCenter, id) })
	}
	return states
}

// TestALiarHarmsNoOtherNode checks that claims of other Nodes change no VM, outcome or absence of a Node. Its own
// claim does.
func TestALiarHarmsNoOtherNode(t *testing.T) {
	claims, kept := 0, 0
	property := func(l liar) bool {
		lied, honest := l.lied(), l.honest()
		for i, s := range lied {
			if s.Snapshot != nil {
				claims += len(s.Snapshot.Recorded) - len(honest[i].Snapshot.Recorded)
			}
		}
		a, errA := inventory.Find(lied, l.id)
		b, errB := inventory.Find(honest, l.id)
		if fmt.Sprint(errA) != fmt.Sprint(errB) || (a == nil) != (b == nil) || a != nil && a.Ref != b.Ref {
			t.Logf("%v, %v instead of %v, %v", a, errA, b, errB)
			return false
		}
		if inventory.IsIndexed(lied, l.id) != inventory.IsIndexed(honest, l.id) {
			return false
		}
		for _, s := range lied {
			if s.Snapshot == nil || s.VCenter != l.id.Recorded.VCenter {
				continue
			}
			if e := s.Snapshot.Recorded[l.id.Recorded.ID]; e.Unreadable {
				kept++
				if _, err := inventory.Find(lied, l.id); !e.Template && (errors.Is(err, topology.ErrAbsent) || !inventory.IsIndexed(lied, l.id)) {
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 50000, Rand: rand.New(rand.NewSource(4))}); err != nil {
		t.Error(err)
	}
	if claims < 1000 || kept < 100 {
		t.Errorf("the worlds are one-sided: %d claims of others, %d own", claims, kept)
	}
}
