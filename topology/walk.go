package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// walked is how many objects of the path the walk has looked at.
	walked int
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
		got.walked = i + 1
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
		return Errorf(ErrUnknown, "the tags of %s cannot be read, which is tried again: %w", r.unreadable, r.unreadable.TagsErr)
	}
	if r.nothing {
		return Errorf(ErrUnknown, "the machine's %s path is not known: %w", kind, r.broken)
	}
	return Errorf(ErrUnknown, "no tag of category %s up to where the %s path ends: %w", quoted(categories), kind, r.broken)
}

// nowhere is the error that there is no tag of the categories on the paths: lacked has
// those of each path.
func nowhere(paths []*Path, lacked [][]string) error {
	var objects []*Object
	var all, each []string
	for i, p := range paths {
		for _, o := range p.Objects {
			objects = with(objects, o)
		}
		all = append(all, lacked[i]...)
		each = append(each, fmt.Sprintf("none of %s on the %s path", quoted(lacked[i]), p.Kind))
	}
	slices.Sort(all)
	what := fmt.Sprintf("no tag of category %s on the machine's %s", quoted(slices.Compact(all)), kindsOf(paths))
	if slices.ContainsFunc(lacked, func(of []string) bool { return !slices.Equal(of, lacked[0]) }) {
		what = "no path has them all: " + strings.Join(each, ", ")
	}
	if len(objects) == 0 {
		return Errorf(ErrMissing, "%s: attach one to %s", what, taggable(paths))
	}
	return Errorf(ErrMissing, "%s: attach one to %s; looked at %s", what, taggable(paths), firstOf(objects, mostLookedAt))
}

// kindsOf names the paths.
func kindsOf(paths []*Path) string {
	if len(paths) == 1 {
		return string(paths[0].Kind) + " path"
	}
	kinds := make([]string, len(paths))
	for i, p := range paths {
		kinds[i] = string(p.Kind)
	}
	last := len(kinds) - 1
	return strings.Join(kinds[:last], ", ") + " or " + kinds[last] + " path"
}

// taggable names what an operator is likely to tag: what is above the machine on the first
// path.
func taggable(paths []*Path) string {
	switch paths[0].Kind {
	case PoolPath:
		return "its resource pool, cluster or datacenter"
	case FolderPath:
		return "its folder or datacenter"
	}
	return "its host, cluster or datacenter"
}
