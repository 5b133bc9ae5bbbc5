package topology

import (
	"maps"
	"slices"
)

// FleetConflicts are the conflicts that no placement shows alone.
type FleetConflicts struct {
	// Spanning are those of pairs of region and zone in several vCenters, see Spanning.
	Spanning map[Pair]Conflict
	// Unnested are those of values that lie in several values of an outer label, see Unnested.
	Unnested map[Value]Conflict
	// Volumes are those that keep the CSI driver from placing volumes, see Volumes.
	Volumes map[Pair][]Conflict
}

// FleetConflicts finds the conflicts of the placements of a whole fleet.
func (p Policy) FleetConflicts(placements []Placement) FleetConflicts {
	return FleetConflicts{
		Spanning: Spanning(slices.Values(placements)),
		Unnested: p.Unnested(slices.Values(placements)),
		Volumes:  p.Volumes(slices.Values(placements)),
	}
}

// Of returns the conflicts of a placement, its own first.
func (f *FleetConflicts) Of(placed Placement) []Conflict {
	all := placed.Conflicts[:len(placed.Conflicts):len(placed.Conflicts)]
	if pair, ok := placed.Pair(); ok {
		if spans, ok := f.Spanning[pair]; ok {
			all = append(all, spans)
		}
		all = append(all, f.Volumes[pair]...)
	}
	for _, d := range placed.Decisions {
		if crosses, ok := f.Unnested[Value{Label: d.Label, Value: d.Value}]; ok {
			all = append(all, crosses)
		}
	}
	return all
}

// Equal reports whether two say the same.
func (f *FleetConflicts) Equal(as *FleetConflicts) bool {
	same := func(a, b Conflict) bool { return a.Text() == b.Text() }
	return maps.EqualFunc(f.Spanning, as.Spanning, same) && maps.EqualFunc(f.Unnested, as.Unnested, same) &&
		maps.EqualFunc(f.Volumes, as.Volumes, func(a, b []Conflict) bool { return slices.EqualFunc(a, b, same) })
}
