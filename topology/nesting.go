package topology

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"vzones/internal/quote"
)

// A Value is one value of a label.
type Value struct{ Label, Value string }

// Nesting returns the labels of which each value lies in one value of those before
// it: region, zone and the nested levels, as far as the policy has them.
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

// outerValues has the values of an outer label that the machines with one inner value
// have, and for each an object that decided the inner one. The value of machines for which
// everything was read and that have none is empty.
type outerValues map[string]*Object

// Unnested returns a conflict for each value that lies in several of an outer label:
// zones of several regions, and values of nested levels. A machine that has no value
// of the outer label is in none; of one for which that is undecided nothing is known.
// Only placements of the whole fleet show it; one conflict holds for all Nodes with
// the value. Equal placements, in whatever order, give equal conflicts.
func (p Policy) Unnested(placements iter.Seq[Placement]) map[Value]Conflict {
	labels := p.Nesting()
	if len(labels) < 2 {
		return nil
	}
	seen := map[Value][]outerValues{} // by the index of the outer label
	for placed := range placements {
		for i, label := range labels[1:] {
			if inner, ok := placed.decision(label); ok {
				v := Value{label, inner.Value}
				if seen[v] == nil {
					seen[v] = make([]outerValues, i+1)
				}
				placed.noteOuterValues(seen[v], labels, inner.By)
			}
		}
	}
	conflicts := map[Value]Conflict{}
	for v, in := range seen {
		for i, where := range slices.Backward(in) {
			if len(where) > 1 {
				conflicts[v] = notNestedConflict(v, labels[i], where)
				break
			}
		}
	}
	return conflicts
}

// noteOuterValues notes in which values of the outer labels a machine is.
func (p Placement) noteOuterValues(in []outerValues, labels []string, by *Object) {
	for i := range in {
		if p.WhyUndecided(labels[i]) != nil {
			continue
		}
		if in[i] == nil {
			in[i] = outerValues{}
		}
		outer := p.Value(labels[i])
		if known := in[i][outer]; known == nil || CompareObjects(by, known) < 0 {
			in[i][outer] = by
		}
	}
}

func notNestedConflict(v Value, outer string, in outerValues) Conflict {
	c := Conflict{Kind: ConflictNotNested, Labels: []string{outer, v.Label}}
	if v.Label == LabelZone {
		c.Kind = ConflictTwoRegions
	}
	values := slices.Sorted(maps.Keys(in))
	for _, value := range values {
		c.Objects = append(c.Objects, in[value])
	}
	c.why = func() string {
		where := make([]string, len(values))
		for i, value := range values {
			where[i] = fmt.Sprintf("in %q by %s", value, in[value])
			if value == "" {
				where[i] = "in none by " + in[value].String()
			}
		}
		all := quote.Some(where, mostNamed)
		if v.Label == LabelZone {
			return fmt.Sprintf("Zone %q is not in one region only: %s. The scheduler, Services and volumes look at the zone's value alone and take this for one zone. "+
				`Give the zone a name of its own in each region, or compose it: value: "{region}-{zone}" in the configuration of the zone.`, v.Value, all)
		}
		return fmt.Sprintf("Value %q of label %s does not lie in one value of label %s: it is %s. Whoever spreads Pods by it takes this for one place. "+
			"Give it a name of its own in each, compose it, or write nested: false for this level in the configuration.", v.Value, v.Label, outer, all)
	}
	return c
}
