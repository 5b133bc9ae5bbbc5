package nodes

import (
	"testing"
	"time"

	"vzones/config"
	"vzones/topology"
)

// hide has no vCenter show a category.
func (f *fakeSource) hide(category string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.absent = []string{category}
}

// show ends that categories are shown by no vCenter, and what that means for the
// placement of a Node, whose machine stays the same.
func (f *fakeSource) show(placed topology.Placement, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.places[node]
	p.Placement = placed
	f.places[node], f.absent = p, nil
	f.announce()
}

// TestCategoryIsMadeInAnotherVCenter: that no vCenter shows a category is over for
// the Nodes of all vCenters once one of them does, though nothing else has changed in
// theirs.
func TestCategoryIsMadeInAnotherVCenter(t *testing.T) {
	cfg := topologyOf(config.DriftReport)
	category := cfg.Policy.Categories()[0]
	without := at("r", "a", "")
	without.Conflicts = cfg.Policy.NoCategory([]string{category})
	if len(without.Conflicts) == 0 {
		t.Fatal("no conflict")
	}
	inWorld(t, cfg, func(w *world) {
		counted := func(want int) {
			t.Helper()
			if n := w.stats().Conflicts[topology.ConflictNoCategory]; n != want {
				t.Errorf("%d Nodes lack a category, want %d", n, want)
			}
		}
		w.source.hide(category)
		w.source.place(without, nil, "west-1")
		w.settle()
		counted(1)
		w.pass(time.Hour)
		counted(1)
		w.source.show(at("r", "a", ""), "west-1")
		w.settle()
		counted(0)
	}, named("west-1", zoned("r", "a")...))
}
