package watch

import (
	"slices"
	"testing"

	"vzones/vcenter/inventory"
)

// TestLastSeen: a UUID that has left the index keeps its place, in that instance of the
// vCenter and while it is followed.
func TestLastSeen(t *testing.T) {
	u, other := inventory.UUID{1}, inventory.UUID{2}
	both := map[inventory.UUID]bool{u: true, other: true}
	var p LastSeen
	p.note("a", map[inventory.UUID][]string{u: {"vm-1"}, {3}: {"vm-3"}}, both)
	p.note("a", map[inventory.UUID][]string{other: {"vm-2"}}, both)
	for _, c := range []struct {
		instance string
		uuids    []inventory.UUID
		want     []string
	}{
		{"a", []inventory.UUID{other, u}, []string{"vm-1", "vm-2"}},
		{"a", []inventory.UUID{{3}}, nil},
		{"b", []inventory.UUID{u}, nil},
	} {
		if got := p.Of(c.instance, c.uuids); !slices.Equal(got, c.want) {
			t.Errorf("%v in %s: %v, want %v", c.uuids, c.instance, got, c.want)
		}
	}
	p.note("a", nil, map[inventory.UUID]bool{other: true})
	if got := p.Of("a", []inventory.UUID{u, other}); !slices.Equal(got, []string{"vm-2"}) {
		t.Errorf("after one is not followed: %v", got)
	}
	p.note("b", nil, both)
	if got := p.Of("a", []inventory.UUID{other}); got != nil {
		t.Errorf("after another instance: %v", got)
	}
}
