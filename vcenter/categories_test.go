package vcenter

import (
	"slices"
	"testing"
	"time"

	"vzones/vcenter/inventory"
)

const oneCategory = `
vcenters:
- name: east
  tags: {region: east}
  datacenters: [{name: dc, clusters: [{name: c, hosts: 1}], vms: [{name: n1}], hostFolders: [{path: other, tags: {rack: r1}}]}]
`

// TestAbsentCategories: a category without a tag above any Node's machine is there
// all the same, and one that is not is told, without being asked for each time.
func TestAbsentCategories(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.Categories = []string{"region", "rack", "zone", "room"}
	w := run(t, oneCategory, opts, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	east := w.sim.VCenters()[0]
	absent := func(want ...string) {
		t.Helper()
		w.until("absent categories", func(states []inventory.State) bool {
			return states[0].Snapshot != nil && slices.Equal(inventory.InvisibleCategories(states), want)
		})
	}
	absent("zone", "room")
	east.ResetRequests()
	for range 3 { // readings of tags
		want := east.Requests()["POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"] + 1
		for east.Requests()["POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"] < want {
			waitABit(t)
		}
	}
	if n := east.Requests()["GET /com/vmware/cis/tagging/category"]; n > 0 {
		t.Errorf("categories were listed %d times more", n)
	}
	// A tag of it that is attached is seen with the next reading.
	if err := east.Tag("/dc", "zone", "a"); err != nil {
		t.Fatal(err)
	}
	absent("room")
}

// TestAbsentCategoriesOfAnIdleVCenter: one without Nodes is asked too, or nothing
// could be said of the fleet.
func TestAbsentCategoriesOfAnIdleVCenter(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.Categories = []string{"rack", "zone"}
	w := run(t, oneCategory, opts, nil)
	w.until("absent categories", func(states []inventory.State) bool {
		return states[0].Snapshot != nil && slices.Equal(inventory.InvisibleCategories(states), []string{"zone"})
	})
}

func waitABit(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(20 * time.Millisecond):
	case <-t.Context().Done():
		t.Fatal("never came: another reading of tags")
	}
}

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
