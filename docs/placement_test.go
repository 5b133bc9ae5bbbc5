package docs_test

import (
	"slices"
	"testing"

	"vzones/topology"
)

// TestPlacementIsDocumented: the reference has every kind of conflict and every
// part of the inventory, and no other.
func TestPlacementIsDocumented(t *testing.T) {
	page := read(t, "reference/placement.md")
	first := func(heading string) (cells []string) {
		for _, row := range rows(t, page, heading) {
			cells = append(cells, row[0])
		}
		return cells
	}
	var kinds, inventories []string
	for _, kind := range topology.ConflictKinds() {
		kinds = append(kinds, string(kind))
	}
	for _, part := range topology.Inventories() {
		inventories = append(inventories, string(part))
	}
	if got := first("## Conflicts"); !slices.Equal(got, kinds) {
		t.Errorf("the reference has %v, the code %v", got, kinds)
	}
	if got := first("## Sources"); !slices.Equal(got, inventories) {
		t.Errorf("the reference has %v, the code %v", got, inventories)
	}
}
