package topology

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"vzones/internal/quote"
)

// A Pair is a region and a zone. Volumes are placed by it, so each may exist in
// one vCenter only.
type Pair struct {
	// Region is empty where the policy has none.
	Region, Zone string
}

func (p Pair) labels() []string {
	if p.Region == "" {
		return []string{LabelZone}
	}
	return []string{LabelRegion, LabelZone}
}

// Pair returns the placement's region and zone. There is none without a zone, nor
// while the region is undecided.
func (p Placement) Pair() (Pair, bool) {
	pair := Pair{Region: p.Value(LabelRegion), Zone: p.Value(LabelZone)}
	return pair, pair.Zone != "" && p.WhyUndecided(LabelRegion) == nil
}

// Spanning returns a conflict for each pair that machines of several vCenters
// have. Only placements of the whole fleet show it; one conflict holds for all
// Nodes with the pair. Equal placements, in whatever order, give equal conflicts.
func Spanning(placements iter.Seq[Placement]) map[Pair]Conflict {
	deciders := map[Pair][]*Object{} // one for each vCenter, of the zone
	for p := range placements {
		pair, ok := p.Pair()
		if !ok {
			continue
		}
		zone, _ := p.decision(LabelZone)
		known := deciders[pair]
		i := slices.IndexFunc(known, func(o *Object) bool { return o.Ref.VCenter == zone.By.Ref.VCenter })
		switch {
		case i < 0:
			deciders[pair] = append(known, zone.By)
		case known[i] != zone.By && CompareObjects(zone.By, known[i]) < 0:
			known[i] = zone.By
		}
	}
	conflicts := map[Pair]Conflict{}
	for pair, by := range deciders {
		if len(by) > 1 {
			slices.SortFunc(by, CompareObjects)
			conflicts[pair] = Conflict{Kind: ConflictSpans, Labels: pair.labels(), Objects: by, why: func() string {
				where := make([]string, len(by))
				for i, o := range by {
					where[i] = o.String()
				}
				return fmt.Sprintf("%s is in %d vCenters: %s. The CSI driver can place no volume in a zone that spans vCenters. "+
					"Give the zone or the region a name of its own in each vCenter.", pair.described(), len(by), quote.Some(where, mostNamed))
			}}
		}
	}
	return conflicts
}

// CompareObjects orders objects by vCenter and inventory path.
func CompareObjects(a, b *Object) int {
	return cmp.Or(
		cmp.Compare(a.Ref.VCenter, b.Ref.VCenter), cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Ref.Type, b.Ref.Type), cmp.Compare(a.Ref.ID, b.Ref.ID),
	)
}

// described names the pair for a person.
func (p Pair) described() string {
	what := fmt.Sprintf("Zone %q", p.Zone)
	if p.Region != "" {
		what += fmt.Sprintf(" of region %q", p.Region)
	}
	return what
}
