package topology

import (
	"errors"
	"fmt"
	"slices"

	"vzones/topology/quote"
)

// A trace is what a walk has seen of one rule's category. Both precedences stop at
// the same object, the one with which every category has a value, so one walk
// serves both. The trace of a rule without a category stays empty.
type trace struct {
	// near is the first object with the category, far the last.
	near, far hit
	// before is what far was before the walk's last object overwrote it with
	// something else.
	before hit
	// varied reports whether a farther object gives another answer than near.
	varied bool
}

// chosen returns what decides.
func (t *trace) chosen(precedence Precedence) hit {
	if precedence == PrecedenceNearest {
		return t.near
	}
	return t.far
}

// dependsOnTagOrder reports whether the CSI driver may stop within the last object before it takes
// this category's tag there, so that its answer depends on the order of the tags.
func (t *trace) dependsOnTagOrder() bool { return t.before.by != nil }

// A reach is how far a walk came.
type reach struct {
	// complete reports whether every category has a value.
	complete bool
	// unreadable is the object whose tags cannot be read, nil if there is none.
	unreadable *Object
	// broken is why the path ends before the root, nil if it does not.
	broken error
	// nothing reports whether no object of the path is known.
	nothing bool
	// skipped are the objects that the walk passed over on its way.
	skipped skipped
}

// truncated reports whether the walk ended where more might have come.
func (r reach) truncated() bool { return r.unreadable != nil || r.broken != nil }

// walk goes upwards until every category has a value, and passes over objects whose
// tags the account may not read. There is a trace for each of the rules. Categories
// that the vCenter does not show have no value, so that the walk goes to the root.
func (r *resolution) walk(p *Path, traces []trace) reach {
	rules := r.policy.Rules
	clear(traces)
	var got reach
	wanted := 0
	for i := range rules {
		if rules[i].Category != "" {
			wanted++
		}
	}
	for i, o := range p.Objects {
		if o.TagsErr != nil {
			if errors.Is(o.TagsErr, ErrNotPermitted) {
				got.skipped.note(p, i)
				continue
			}
			got.unreadable = o
			return got
		}
		if len(o.Tags) == 0 {
			continue
		}
		if wanted -= r.step(o, traces); wanted == 0 {
			got.complete = true
			return got
		}
		for i := range traces {
			traces[i].before = hit{}
		}
	}
	got.broken, got.nothing = p.Broken, len(p.Objects) == 0
	return got
}

// step takes an object's tags together, and returns how many categories have a
// value that had none before.
func (r *resolution) step(o *Object, traces []trace) int {
	fresh := 0
	for i := range traces {
		category := r.policy.Rules[i].Category
		if category == "" || r.isInvisible(category) {
			continue
		}
		h := o.tagged(category)
		if h.by == nil {
			continue
		}
		t := &traces[i]
		if t.near.by == nil {
			t.near = h
			fresh++
		} else {
			if h.differs(t.far) {
				t.before = t.far
			}
			t.varied = t.varied || h.differs(t.near)
		}
		t.far = h
	}
	return fresh
}

// notSeen returns the categories that the walk has not seen, the required ones alone
// or all. Those that the vCenter does not show are not among them.
func (r *resolution) notSeen(traces []trace, all bool) []string {
	var categories []string
	for i := range traces {
		rule := &r.policy.Rules[i]
		if rule.Category != "" && traces[i].near.by == nil && (all || rule.Required) && !r.isInvisible(rule.Category) &&
			!slices.Contains(categories, rule.Category) {
			categories = append(categories, rule.Category)
		}
	}
	return categories
}

// unknown returns why categories are not known on a path that was truncated.
func (r reach) unknown(categories []string, kind PathKind) error {
	if r.unreadable != nil {
		return fmt.Errorf("%w: tags of %s: %w", ErrUnknown, r.unreadable, r.unreadable.TagsErr)
	}
	if r.nothing {
		return fmt.Errorf("%w: the machine's %s path is not known: %w", ErrUnknown, kind, r.broken)
	}
	return fmt.Errorf("%w: no tag of category %s up to where the %s path ends: %w", ErrUnknown, quoted(categories), kind, r.broken)
}

func nowhere(categories []string, p *Path) string {
	return fmt.Sprintf("no tag of category %s on the %s path (%s)", quoted(categories), p.Kind, listed(p.Objects))
}

func listed(objects []*Object) string {
	s := make([]string, len(objects))
	for i, o := range objects {
		s[i] = o.String()
	}
	return quote.Some(s, mostNamed)
}
