package topology

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"vzones/internal/quote"
)

// FleetConflicts are the conflicts that only the placements of a whole fleet show.
type FleetConflicts struct {
	Spanning map[Pair]Conflict
	Unnested map[Value]Conflict
	Volumes  map[Pair][]Conflict
}

// FleetConflicts returns the conflicts of a fleet.
func (p Policy) FleetConflicts(placements []Placement) FleetConflicts {
	return FleetConflicts{
		Spanning: Spanning(slices.Values(placements)),
		Unnested: p.Unnested(slices.Values(placements)),
		Volumes:  p.Volumes(slices.Values(placements)),
	}
}

// Of returns the conflicts of a placement, its own first.
func (f *FleetConflicts) Of(placed Placement) []Conflict {
	conflicts := placed.Conflicts[:len(placed.Conflicts):len(placed.Conflicts)]
	if pair, ok := placed.Pair(); ok {
		if spans, ok := f.Spanning[pair]; ok {
			conflicts = append(conflicts, spans)
		}
		conflicts = append(conflicts, f.Volumes[pair]...)
	}
	for _, d := range placed.Decisions {
		if crosses, ok := f.Unnested[Value{Label: d.Label, Value: d.Value}]; ok {
			conflicts = append(conflicts, crosses)
		}
	}
	return conflicts
}

// Equal compares the texts of the conflicts.
func (f *FleetConflicts) Equal(other *FleetConflicts) bool {
	sameText := func(a, b Conflict) bool { return a.Text() == b.Text() }
	return maps.EqualFunc(f.Spanning, other.Spanning, sameText) && maps.EqualFunc(f.Unnested, other.Unnested, sameText) &&
		maps.EqualFunc(f.Volumes, other.Volumes, func(a, b []Conflict) bool { return slices.EqualFunc(a, b, sameText) })
}

// A Pair is a region, which may be empty, and a zone. The CSI driver places volumes by pair, so each
// pair may exist in one vCenter only.
type Pair struct {
	Region, Zone string
}

func (p Pair) labels() []string {
	if p.Region == "" {
		return []string{LabelZone}
	}
	return []string{LabelRegion, LabelZone}
}

// Pair returns false without a zone, or while the region is undecided.
func (p Placement) Pair() (Pair, bool) {
	pair := Pair{Region: p.Value(LabelRegion), Zone: p.Value(LabelZone)}
	return pair, pair.Zone != "" && p.WhyUndecided(LabelRegion) == nil
}

// Spanning returns a conflict for each pair in several vCenters.
func Spanning(placements iter.Seq[Placement]) map[Pair]Conflict {
	deciders := map[Pair][]*Object{}
	for p := range placements {
		pair, ok := p.Pair()
		if !ok {
			continue
		}
		zone, _ := p.decision(LabelZone)
		objects := deciders[pair]
		i := slices.IndexFunc(objects, func(o *Object) bool { return o.Ref.VCenter == zone.By.Ref.VCenter })
		switch {
		case i < 0:
			deciders[pair] = append(objects, zone.By)
		case objects[i] != zone.By && CompareObjects(zone.By, objects[i]) < 0:
			objects[i] = zone.By
		}
	}
	conflicts := map[Pair]Conflict{}
	for pair, objects := range deciders {
		if len(objects) > 1 {
			slices.SortFunc(objects, CompareObjects)
			conflicts[pair] = Conflict{Kind: ConflictSpans, Labels: pair.labels(), Objects: objects, why: func() string {
				where := make([]string, len(objects))
				for i, o := range objects {
					where[i] = o.String()
				}
				return fmt.Sprintf("%s is in %d vCenters: %s. The CSI driver cannot place volumes in a zone that spans vCenters. "+
					"Give the zone or the region a different name in each vCenter.", pair.described(), len(objects), quote.Some(where, maxNamed))
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

func (p Pair) described() string {
	text := fmt.Sprintf("Zone %q", p.Zone)
	if p.Region != "" {
		text += fmt.Sprintf(" of region %q", p.Region)
	}
	return text
}

// A Value is one value of a label.
type Value struct{ Label, Value string }

// Nesting returns the labels that have to nest, the outermost first.
func (p Policy) Nesting() []string {
	var labels []string
	for _, label := range []string{LabelRegion, LabelZone} {
		if p.rule(label) != nil {
			labels = append(labels, label)
		}
	}
	for _, r := range p.Levels {
		if r.Nested && r.Label != LabelRegion && r.Label != LabelZone {
			labels = append(labels, r.Label)
		}
	}
	return labels
}

// outerValues maps each value of an outer label ("" for none) to an object that decided the inner
// value in it.
type outerValues map[string]*Object

// Unnested returns a conflict for each value that lies in several values of an outer label. A missing
// outer value is a value of its own; an undecided outer value is ignored.
func (p Policy) Unnested(placements iter.Seq[Placement]) map[Value]Conflict {
	labels := p.Nesting()
	if len(labels) < 2 {
		return nil
	}
	// seen contains the outer values by the index of their label.
	seen := map[Value][]outerValues{}
	for placed := range placements {
		for i, label := range labels[1:] {
			if inner, ok := placed.decision(label); ok {
				v := Value{label, inner.Value}
				if seen[v] == nil {
					seen[v] = make([]outerValues, i+1)
				}
				placed.addOuterValues(seen[v], labels, inner.By)
			}
		}
	}
	conflicts := map[Value]Conflict{}
	for v, values := range seen {
		for i, where := range slices.Backward(values) {
			if len(where) > 1 {
				conflicts[v] = notNestedConflict(v, labels[i], where)
				break
			}
		}
	}
	return conflicts
}

func (p Placement) addOuterValues(values []outerValues, labels []string, decider *Object) {
	for i := range values {
		if p.WhyUndecided(labels[i]) != nil {
			continue
		}
		if values[i] == nil {
			values[i] = outerValues{}
		}
		outer := p.Value(labels[i])
		if known := values[i][outer]; known == nil || CompareObjects(decider, known) < 0 {
			values[i][outer] = decider
		}
	}
}

func notNestedConflict(v Value, outer string, deciders outerValues) Conflict {
	c := Conflict{Kind: ConflictNotNested, Labels: []string{outer, v.Label}}
	if v.Label == LabelZone {
		c.Kind = ConflictTwoRegions
	}
	values := slices.Sorted(maps.Keys(deciders))
	for _, value := range values {
		c.Objects = append(c.Objects, deciders[value])
	}
	c.why = func() string {
		where := make([]string, len(values))
		for i, value := range values {
			where[i] = fmt.Sprintf("in %q (%s)", value, deciders[value])
			if value == "" {
				where[i] = "in none (" + deciders[value].String() + ")"
			}
		}
		places := quote.Some(where, maxNamed)
		if v.Label == LabelZone {
			return fmt.Sprintf("Zone %q is not in exactly one region: %s. The scheduler, Services and volumes look only at the zone's value and treat it as one zone. "+
				`Give the zone a different name in each region, or compose it: value: "{region}-{zone}" in the configuration of the zone.`, v.Value, places)
		}
		return fmt.Sprintf("Value %q of label %s is not in exactly one value of label %s: it is %s. Spreading Pods across its values treats it as one place. "+
			"Give it a different name in each, compose it, or set nested: false for this level in the configuration.", v.Value, v.Label, outer, places)
	}
	return c
}
