package vcenter

import (
	"slices"
	"testing"

	"vzones/vcenter/inventory"
)

func TestNoCategory(t *testing.T) {
	t.Parallel()
	has := func(absent ...string) inventory.State {
		return inventory.State{Snapshot: &inventory.Snapshot{InvisibleCategories: absent}}
	}
	for _, c := range []struct {
		name   string
		states []inventory.State
		want   []string
	}{
		{"one", []inventory.State{has("zone")}, []string{"zone"}},
		{"in none of two", []inventory.State{has("zone", "rack"), has("rack")}, []string{"rack"}},
		{"each in one", []inventory.State{has("zone"), has("rack")}, nil},
		{"one not read", []inventory.State{has("zone"), {}}, nil},
		{"all there", []inventory.State{has(), has("zone")}, nil},
	} {
		if got := inventory.InvisibleCategories(c.states); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
