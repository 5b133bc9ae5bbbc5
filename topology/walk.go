package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// A search looks for the tags of a policy's categories above one machine.
type search struct {
	ancestors
	policy *Policy
}

func (s *search) hasCategories() bool {
	for i := range s.policy.Rules {
		if s.policy.Rules[i].Category != "" {
			return true
		}
	}
	return false
}

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
func (s *search) walk(p *Path, traces []trace) reach {
	rules := s.policy.Rules
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
		if wanted -= s.step(o, traces); wanted == 0 {
			got.complete = true
			return got
		}
		for i := range traces {
			traces[i].before = hit{}
		}
	}
	got.broken = p.Broken
	got.nothing = len(p.Objects) == 0
	return got
}

// step takes an object's tags together, and returns how many categories have a
// value that had none before.
func (s *search) step(o *Object, traces []trace) int {
	fresh := 0
	for i := range traces {
		category := s.policy.Rules[i].Category
		if category == "" || s.isInvisible(category) {
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
func (s *search) notSeen(traces []trace, all bool) []string {
	var categories []string
	for i := range traces {
		rule := &s.policy.Rules[i]
		if rule.Category != "" && traces[i].near.by == nil && (all || rule.Required) && !s.isInvisible(rule.Category) &&
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

// A choice is the result of the walks.
type choice struct {
	// path is the one that decides, nil if none does. Its first walked objects were looked at.
	path   *Path
	walked int
	// unknown says why categories that were not seen may still have a value. Nil
	// means that they have none.
	unknown error
	// truncated reports whether the path ended where more might have come.
	truncated bool
	// invisible is a category that the vCenter does not show, without which it is not
	// known where the walk of precedence csi ends. Only what is the same wherever it
	// ends is certain.
	invisible string
	// skipped are the objects that count as untagged, on all paths walked.
	skipped skipped
}

// choose leaves the traces of the path that decides, or empty ones.
func (s *search) choose(traces []trace) choice {
	if category := s.invisible(true); category != "" {
		return choice{unknown: s.noCategory(category)}
	}
	var v choice
	// lacked are the categories of the paths on which nothing decides.
	var lacked []string
	invisible := s.invisible(false)
	for _, kind := range s.policy.paths() {
		p := s.path(kind)
		got := s.walk(p, traces)
		v.skipped.add(got.skipped)
		some, all := s.seen(traces)
		switch {
		case got.complete, !got.truncated() && some && all:
			v.path = p
			v.walked = got.walked
			s.qualify(&v, traces)
			return v
		case !got.truncated() && all && invisible != "":
			// A tag of that category may be what decides here.
			v.unknown = s.noCategory(invisible)
			clear(traces)
			return v
		case !got.truncated():
			for _, category := range s.notSeen(traces, all) {
				if !slices.Contains(lacked, category) {
					lacked = append(lacked, category)
				}
			}
			continue
		case s.policy.Precedence == PrecedenceNearest && some && all:
			v.path = p
			v.walked = got.walked
			v.truncated = true
			v.unknown = got.unknown(s.notSeen(traces, true), kind)
			return v
		}
		// Farther tags might have overwritten what was seen.
		v.unknown = got.unknown(s.notSeen(traces, all), kind)
		clear(traces)
		return v
	}
	clear(traces)
	if !v.skipped.none() {
		v.unknown = notPermitted(lacked, v.skipped)
	}
	return v
}

// qualify notes what is not known although the path that decides was walked to its
// end.
func (s *search) qualify(v *choice, traces []trace) {
	if lacked := s.notSeen(traces, true); len(lacked) > 0 && !v.skipped.none() {
		v.unknown = notPermitted(lacked, v.skipped)
	}
	if s.policy.Precedence != PrecedenceNearest {
		v.invisible = s.invisible(false)
	}
}

// seen reports whether the walk has seen any category, and all that are required.
func (s *search) seen(traces []trace) (some, all bool) {
	all = true
	for i := range traces {
		rule := &s.policy.Rules[i]
		switch {
		case traces[i].near.by != nil:
			some = true
		case rule.Category != "" && rule.Required:
			all = false
		}
	}
	return some, all
}

// missing returns where the required categories were looked for. It leaves the
// traces empty.
func (s *search) missing(traces []trace) error {
	var lacked [][]string
	for _, p := range s.tried() {
		s.walk(p, traces)
		lacked = append(lacked, s.notSeen(traces, false))
	}
	clear(traces)
	return nowhere(s.tried(), lacked)
}

// tried are the machine's paths in the policy's order.
func (s *search) tried() []*Path {
	var paths []*Path
	for _, kind := range s.policy.paths() {
		paths = append(paths, s.path(kind))
	}
	return paths
}

func nearest(category string, p *Path) (hit, reach) {
	var got reach
	for i, o := range p.Objects {
		if o.TagsErr != nil {
			if errors.Is(o.TagsErr, ErrNotPermitted) {
				got.skipped.note(p, i)
				continue
			}
			got.unreadable = o
			return hit{}, got
		}
		if h := o.tagged(category); h.by != nil {
			got.complete = true
			return h, got
		}
	}
	got.broken = p.Broken
	got.nothing = len(p.Objects) == 0
	return hit{}, got
}

// skipped are objects that were passed over because the account may not read their
// tags. They count as untagged.
type skipped struct {
	// objects may well have tags.
	objects []*Object
	// system are folders that vSphere makes and that are rarely tagged:
	// the root folder, and those right below a datacenter. Roles that do not
	// propagate leave them out.
	system []*Object
}

func (p skipped) none() bool { return len(p.objects)+len(p.system) == 0 }

// all returns all of them.
func (p skipped) all() []*Object { return slices.Concat(p.objects, p.system) }

// note adds the i-th object of a path.
func (p *skipped) note(path *Path, i int) {
	o := path.Objects[i]
	if IsSystemFolder(path, i) {
		p.system = with(p.system, o)
	} else {
		p.objects = with(p.objects, o)
	}
}

// add adds those of another path.
func (p *skipped) add(more skipped) {
	for _, o := range more.objects {
		p.objects = with(p.objects, o)
	}
	for _, o := range more.system {
		p.system = with(p.system, o)
	}
}

// with returns the objects and o, each once. What was returned before is not
// changed.
func with(objects []*Object, o *Object) []*Object {
	if slices.ContainsFunc(objects, func(known *Object) bool { return known.Ref == o.Ref }) {
		return objects
	}
	return append(objects[:len(objects):len(objects)], o)
}

// IsSystemFolder reports whether the i-th object of a path is the root folder, or a
// folder right below a datacenter: vm or host, which users do not see. vSphere makes these, and hardly
// anybody tags them.
func IsSystemFolder(p *Path, i int) bool {
	if p.Objects[i].Ref.Type != typeFolder {
		return false
	}
	if i == len(p.Objects)-1 {
		return p.Broken == nil
	}
	return p.Objects[i+1].Ref.Type == typeDatacenter
}

// notPermitted returns the error that categories were not seen where tags may be read.
func notPermitted(categories []string, over skipped) error {
	return Errorf(Kinds{ErrUnknown, ErrNotPermitted}, "no tag of category %s where the account may read tags; in vCenter %q it lacks the privilege System.Read on %s: "+
		"attach one where it may read, or give it the role Read-only there, without propagation", quoted(categories), over.all()[0].Ref.VCenter, Named(over.all()))
}

// Uncertainty returns why the decision is not certain, nil if it is. Objects whose tags
// the account may not read might have decided otherwise.
func (d Decision) Uncertainty() error {
	if len(d.Unread) == 0 {
		return nil
	}
	return Errorf(ErrUnknown, "another tag may decide; in vCenter %q the account lacks the privilege System.Read on %s: "+
		"give it the role Read-only there, without propagation", d.Unread[0].Ref.VCenter, firstOf(d.Unread, 2))
}

// Named names objects of one vCenter for a person, the first of them if there are many.
func Named(objects []*Object) string { return firstOf(objects, mostNamed) }

func firstOf(objects []*Object, most int) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.inVCenter()
	}
	return quote.Some(names, most)
}

// isInvisible reports whether the machine's vCenter does not show a category.
func (s *search) isInvisible(category string) bool {
	return len(s.policy.Invisible) > 0 && category != "" && slices.Contains(s.policy.Invisible, category)
}

// invisible returns the category of the first rule whose category is not shown, of
// the required ones or of all. It is empty if there is none.
func (s *search) invisible(requiredOnly bool) string {
	if len(s.policy.Invisible) == 0 {
		return ""
	}
	for i := range s.policy.Rules {
		rule := &s.policy.Rules[i]
		if s.isInvisible(rule.Category) && (rule.Required || !requiredOnly) {
			return rule.Category
		}
	}
	return ""
}

// noCategory returns the error that the machine's vCenter does not show a category.
func (s *search) noCategory(category string) error {
	where := "the vCenter"
	for i := range s.ancestors {
		if above := s.ancestors[i].Objects; len(above) > 0 {
			where = fmt.Sprintf("vCenter %q", above[0].Ref.VCenter)
			break
		}
	}
	return unseenCategory{where, category, meant(category, s.policy.Visible)}
}

// unseenCategory is ErrUnknown and ErrNoCategory.
type unseenCategory struct{ where, category, meant string }

func (u unseenCategory) Error() string {
	return fmt.Sprintf("%s has no tag category %q that the account can see%s: correct its name in the configuration, make the category there, "+
		"or give the account the role Read-only in the global permissions", u.where, u.category, u.meant)
}

func (unseenCategory) Is(target error) bool { return target == ErrUnknown || target == ErrNoCategory }
