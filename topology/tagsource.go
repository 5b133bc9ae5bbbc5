package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

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

// A trace records the tags of one rule's category along a walk. One walk serves both precedences, because with either it
// ends once every category has a first value.
type trace struct {
	near, far hit
	// overwritten is the previous value of far if the object that completed the walk replaced it with a different value.
	overwritten hit
	// varied is true if a farther object gives a different value than near.
	varied bool
}

func (t *trace) chosen(precedence Precedence) hit {
	if precedence == PrecedenceNearest {
		return t.near
	}
	return t.far
}

// dependsOnTagOrder reports whether the value that the CSI driver finds depends on the order of the
// last object's tags. The driver may stop before it takes this category's tag there.
func (t *trace) dependsOnTagOrder() bool { return t.overwritten.object != nil }

type walkResult struct {
	complete   bool
	unreadable *Object
	broken     error
	isEmpty    bool
	skipped    skipped
	walked     int
}

func (r walkResult) truncated() bool { return r.unreadable != nil || r.broken != nil }

// walk clears and fills traces from the VM upwards, until every category has a value, the path ends, or an object's tags
// cannot be read. It skips objects that the account may not read.
func (s *search) walk(p *Path, traces []trace) walkResult {
	rules := s.policy.Rules
	clear(traces)
	var got walkResult
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
				got.skipped.addAt(p, i)
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
			traces[i].overwritten = hit{}
		}
	}
	got.broken = p.Broken
	got.isEmpty = len(p.Objects) == 0
	return got
}

// step returns the number of categories that get their first value from this object.
func (s *search) step(o *Object, traces []trace) int {
	fresh := 0
	for i := range traces {
		category := s.policy.Rules[i].Category
		if category == "" || s.isInvisible(category) {
			continue
		}
		h := o.tagged(category)
		if h.object == nil {
			continue
		}
		t := &traces[i]
		if t.near.object == nil {
			t.near = h
			fresh++
		} else {
			if h.differs(t.far) {
				t.overwritten = t.far
			}
			t.varied = t.varied || h.differs(t.near)
		}
		t.far = h
	}
	return fresh
}

func (s *search) untaggedCategories(traces []trace, includeOptional bool) []string {
	var categories []string
	for i := range traces {
		rule := &s.policy.Rules[i]
		if rule.Category != "" && traces[i].near.object == nil && (includeOptional || rule.Required) && !s.isInvisible(rule.Category) &&
			!slices.Contains(categories, rule.Category) {
			categories = append(categories, rule.Category)
		}
	}
	return categories
}

func (r walkResult) unknownError(categories []string, kind PathKind) error {
	if r.unreadable != nil {
		return Errorf(ErrUnknown, "the tags of %s cannot be read, retrying: %w", r.unreadable, r.unreadable.TagsErr)
	}
	if r.isEmpty {
		return Errorf(ErrUnknown, "the VM's %s path is unknown: %w", kind, r.broken)
	}
	return Errorf(ErrUnknown, "no tag of category %s on the readable part of the %s path: %w", quoted(categories), kind, r.broken)
}

// missingError returns the error for required categories without a tag. lacked[i] lists them for paths[i].
func missingError(paths []*Path, lacked [][]string) error {
	var objects []*Object
	var categories, perPath []string
	for i, p := range paths {
		for _, o := range p.Objects {
			objects = appendUnique(objects, o)
		}
		categories = append(categories, lacked[i]...)
		perPath = append(perPath, fmt.Sprintf("%s path: no %s", p.Kind, quoted(lacked[i])))
	}
	slices.Sort(categories)
	problem := fmt.Sprintf("no tag of category %s on the VM's %s", quoted(slices.Compact(categories)), kindsOf(paths))
	advice := "attach one"
	if slices.ContainsFunc(lacked, func(categories []string) bool { return !slices.Equal(categories, lacked[0]) }) {
		problem = "no path of the VM has tags of all required categories (" + strings.Join(perPath, "; ") + ")"
		advice = "attach the missing tags"
	}
	if len(objects) == 0 {
		return Errorf(ErrMissing, "%s: %s to %s", problem, advice, taggable(paths))
	}
	return Errorf(ErrMissing, "%s: %s to %s; looked at %s", problem, advice, taggable(paths), firstOf(objects, maxSearchedObjects))
}

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

func taggable(paths []*Path) string {
	switch paths[0].Kind {
	case PoolPath:
		return "its resource pool, cluster or datacenter"
	case FolderPath:
		return "its folder or datacenter"
	}
	return "its host, cluster or datacenter"
}

type choice struct {
	path   *Path
	walked int
	// unknown is the reason why categories without a tag may still have a value, or nil.
	unknown   error
	truncated bool
	// invisible is a category that the vCenter does not show. With precedence csi, its tags might
	// end the walk earlier, so a value is certain only if every object up to the root agrees.
	invisible string
	skipped   skipped
}

// choose returns the deciding path and fills traces with its tags. If no path decides, traces are
// empty.
func (s *search) choose(traces []trace) choice {
	if category := s.firstInvisible(true); category != "" {
		return choice{unknown: s.categoryError(category)}
	}
	var v choice
	var lacked []string
	invisible := s.firstInvisible(false)
	for _, kind := range s.policy.paths() {
		p := s.path(kind)
		got := s.walk(p, traces)
		v.skipped.add(got.skipped)
		sawAny, sawAllRequired := s.seen(traces)
		switch {
		case got.complete, !got.truncated() && sawAny && sawAllRequired:
			v.path = p
			v.walked = got.walked
			s.recordUncertainty(&v, traces)
			return v
		case !got.truncated() && sawAllRequired && invisible != "":
			// A tag of the invisible category may decide here.
			v.unknown = s.categoryError(invisible)
			clear(traces)
			return v
		case !got.truncated():
			for _, category := range s.untaggedCategories(traces, sawAllRequired) {
				if !slices.Contains(lacked, category) {
					lacked = append(lacked, category)
				}
			}
			continue
		case s.policy.Precedence == PrecedenceNearest && sawAny && sawAllRequired:
			v.path = p
			v.walked = got.walked
			v.truncated = true
			v.unknown = got.unknownError(s.untaggedCategories(traces, true), kind)
			return v
		}
		// Objects that were not read might add a value or, with precedence csi, overwrite one.
		v.unknown = got.unknownError(s.untaggedCategories(traces, sawAllRequired), kind)
		clear(traces)
		return v
	}
	clear(traces)
	if !v.skipped.none() {
		v.unknown = permissionError(lacked, v.skipped)
	}
	return v
}

func (s *search) recordUncertainty(v *choice, traces []trace) {
	if lacked := s.untaggedCategories(traces, true); len(lacked) > 0 && !v.skipped.none() {
		v.unknown = permissionError(lacked, v.skipped)
	}
	if s.policy.Precedence != PrecedenceNearest {
		v.invisible = s.firstInvisible(false)
	}
}

func (s *search) seen(traces []trace) (sawAny, sawRequired bool) {
	sawRequired = true
	for i := range traces {
		rule := &s.policy.Rules[i]
		switch {
		case traces[i].near.object != nil:
			sawAny = true
		case rule.Category != "" && rule.Required:
			sawRequired = false
		}
	}
	return sawAny, sawRequired
}

func (s *search) missing(traces []trace) error {
	var lacked [][]string
	for _, p := range s.searchedPaths() {
		s.walk(p, traces)
		lacked = append(lacked, s.untaggedCategories(traces, false))
	}
	clear(traces)
	return missingError(s.searchedPaths(), lacked)
}

func (s *search) searchedPaths() []*Path {
	var paths []*Path
	for _, kind := range s.policy.paths() {
		paths = append(paths, s.path(kind))
	}
	return paths
}

func nearest(category string, p *Path) (hit, walkResult) {
	var got walkResult
	for i, o := range p.Objects {
		if o.TagsErr != nil {
			if errors.Is(o.TagsErr, ErrNotPermitted) {
				got.skipped.addAt(p, i)
				continue
			}
			got.unreadable = o
			return hit{}, got
		}
		if h := o.tagged(category); h.object != nil {
			got.complete = true
			return h, got
		}
	}
	got.broken = p.Broken
	got.isEmpty = len(p.Objects) == 0
	return hit{}, got
}

// skipped are objects whose tags the account may not read.
type skipped struct {
	objects []*Object
	// system are the system folders, which are rarely tagged and which roles without
	// propagation do not cover.
	system []*Object
}

func (p skipped) none() bool { return len(p.objects)+len(p.system) == 0 }

func (p skipped) union() []*Object { return slices.Concat(p.objects, p.system) }

func (p *skipped) addAt(path *Path, i int) {
	o := path.Objects[i]
	if IsSystemFolder(path, i) {
		p.system = appendUnique(p.system, o)
	} else {
		p.objects = appendUnique(p.objects, o)
	}
}

func (p *skipped) add(other skipped) {
	for _, o := range other.objects {
		p.objects = appendUnique(p.objects, o)
	}
	for _, o := range other.system {
		p.system = appendUnique(p.system, o)
	}
}

// appendUnique never writes to the backing array of objects.
func appendUnique(objects []*Object, o *Object) []*Object {
	if slices.ContainsFunc(objects, func(known *Object) bool { return known.Ref == o.Ref }) {
		return objects
	}
	return append(objects[:len(objects):len(objects)], o)
}

// IsSystemFolder reports whether the i-th object of a path is the root folder, or the hidden folder
// vm or host right below a datacenter.
func IsSystemFolder(p *Path, i int) bool {
	if p.Objects[i].Ref.Type != typeFolder {
		return false
	}
	if i == len(p.Objects)-1 {
		return p.Broken == nil
	}
	return p.Objects[i+1].Ref.Type == typeDatacenter
}

func permissionError(categories []string, passed skipped) error {
	return Errorf(Kinds{ErrUnknown, ErrNotPermitted}, "no tag of category %s on readable objects; in vCenter %q the account lacks the privilege System.Read on %s: "+
		"attach a tag to a readable object, or give the account the role Read-only on these objects, without propagation", quoted(categories), passed.union()[0].Ref.VCenter, DescribeObjects(passed.union()))
}

// Uncertainty returns an error if unreadable objects might have decided otherwise.
func (d Decision) Uncertainty() error {
	if len(d.Unread) == 0 {
		return nil
	}
	return Errorf(ErrUnknown, "a tag that cannot be read may decide instead; in vCenter %q the account lacks the privilege System.Read on %s: "+
		"give the account the role Read-only on these objects, without propagation", d.Unread[0].Ref.VCenter, firstOf(d.Unread, 2))
}

// DescribeObjects lists at most ten objects of one vCenter.
func DescribeObjects(objects []*Object) string { return firstOf(objects, maxNamed) }

func firstOf(objects []*Object, limit int) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.inVCenter()
	}
	return quote.Some(names, limit)
}

func (s *search) isInvisible(category string) bool {
	return len(s.policy.Invisible) > 0 && category != "" && slices.Contains(s.policy.Invisible, category)
}

func (s *search) firstInvisible(requiredOnly bool) string {
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

func (s *search) categoryError(category string) error {
	where := "the vCenter"
	for i := range s.ancestors {
		if above := s.ancestors[i].Objects; len(above) > 0 {
			where = fmt.Sprintf("vCenter %q", above[0].Ref.VCenter)
			break
		}
	}
	return invisibleCategoryError{where, category, suggestion(category, s.policy.Visible)}
}

type invisibleCategoryError struct{ where, category, suggestion string }

func (u invisibleCategoryError) Error() string {
	return fmt.Sprintf("%s has no tag category %q that the account can see%s: correct its name in the configuration, create the category there, "+
		"or give the account the role Read-only in the global permissions", u.where, u.category, u.suggestion)
}

func (invisibleCategoryError) Is(target error) bool {
	return target == ErrUnknown || target == ErrNoCategory
}
