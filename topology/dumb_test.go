package topology

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

// dumb is Resolve a second time, for rules of tags: by what holds of the indices
// of objects, where Resolve walks. It keeps no placement but a line for each
// label, and a line for each conflict.
type dumb struct {
	policy    Policy
	paths     map[PathKind]*Path
	states    map[string]string
	conflicts []string
	// unread are the labels decided over objects whose tags the account may not
	// read, system the system folders among all such objects.
	unread []string
	system map[string]bool
	err    error
}

func dumbly(policy Policy, paths []Path) *dumb {
	d := &dumb{policy: policy, paths: map[PathKind]*Path{}, states: map[string]string{}, system: map[string]bool{}}
	for i := range paths {
		d.paths[paths[i].Kind] = &paths[i]
	}
	order := policy.Paths
	if len(order) == 0 {
		order = []PathKind{"compute", "resource pool", "folder"}
	}
	d.together(order)
	for _, rule := range policy.Levels {
		d.level(rule, order)
	}
	if len(d.unread) > 0 {
		d.conflict(ConflictUnread, d.unread...)
	}
	slices.Sort(d.conflicts)
	return d
}

func (d *dumb) isHidden(category string) bool { return slices.Contains(d.policy.Invisible, category) }

// hides says whether the vCenter does not show a category of the rules that is
// optional, or of all.
func (d *dumb) hides(orRequired bool) bool {
	return slices.ContainsFunc(d.policy.Rules, func(r Rule) bool { return d.isHidden(r.Category) && (orRequired || !r.Required) })
}

func forbidden(o *Object) bool { return errors.Is(o.TagsErr, ErrNotPermitted) }

func unreadable(o *Object) bool { return o.TagsErr != nil && !forbidden(o) }

// end is how many objects of a path can be walked.
func end(p *Path) int {
	if i := slices.IndexFunc(p.Objects, unreadable); i >= 0 {
		return i
	}
	return len(p.Objects)
}

// having returns the indices of the objects with a category that is shown, below
// the first whose tags cannot be read.
func (d *dumb) having(p *Path, category string) []int {
	var indices []int
	for i, o := range p.Objects[:end(p)] {
		if !forbidden(o) && !d.isHidden(category) && len(o.tagNames(category)) > 0 {
			indices = append(indices, i)
		}
	}
	return indices
}

func isCut(p *Path) bool { return p.Broken != nil || end(p) < len(p.Objects) }

// stop is the index of the object at which a walk over the categories ends, -1 if
// it goes to the end.
func (d *dumb) stop(p *Path) int {
	farthest := -1
	for _, r := range d.policy.Rules {
		indices := d.having(p, r.Category)
		if len(indices) == 0 {
			return -1
		}
		farthest = max(farthest, indices[0])
	}
	return farthest
}

// upTo returns the indices that count for a walk.
func (d *dumb) upTo(p *Path, category string) []int {
	indices, last := d.having(p, category), d.stop(p)
	return slices.DeleteFunc(indices, func(i int) bool { return last >= 0 && i > last })
}

// over returns the objects below index n that may not be read, system folders and
// others.
func over(p *Path, n int) (system, others []string) {
	for i, o := range p.Objects[:n] {
		folder, last := o.Ref.Type == "Folder", i+1 == len(p.Objects)
		switch {
		case !forbidden(o):
		case folder && (last && p.Broken == nil || !last && p.Objects[i+1].Ref.Type == "Datacenter"):
			system = append(system, o.String())
		default:
			others = append(others, o.String())
		}
	}
	return system, others
}

// passes notes what is passed over below index n, and returns it with what was
// passed over before.
func (d *dumb) passes(p *Path, n int, before [2][]string) [2][]string {
	system, others := over(p, n)
	for i, more := range [][]string{system, others} {
		for _, o := range more {
			if i == 0 {
				d.system[o] = true
			}
			if !slices.Contains(before[i], o) {
				before[i] = append(before[i], o)
			}
		}
	}
	return before
}

func (d *dumb) allUnknown() {
	for _, r := range d.policy.Rules {
		d.end(r, "unknown")
	}
}

func (d *dumb) together(order []PathKind) {
	rules := d.policy.Rules
	if d.hides(true) && slices.ContainsFunc(rules, func(r Rule) bool { return r.Required && d.isHidden(r.Category) }) {
		d.allUnknown()
		return
	}
	var passed [2][]string
	for _, kind := range order {
		p := d.paths[kind]
		if p == nil {
			d.allUnknown()
			return
		}
		some, all := false, true
		for _, r := range rules {
			has := len(d.having(p, r.Category)) > 0
			some, all = some || has, all && (has || !r.Required)
		}
		walked := end(p)
		if last := d.stop(p); last >= 0 {
			walked = last
		}
		passed = d.passes(p, walked, passed)
		certain := d.stop(p) >= 0 || !isCut(p)
		switch {
		case certain && some && all, d.policy.Precedence == PrecedenceNearest && some && all:
			d.decide(p, certain, passed)
			return
		case certain && all && d.hides(false), !certain:
			d.allUnknown()
			return
		}
	}
	for _, r := range rules {
		switch {
		case d.isHidden(r.Category), len(passed[0])+len(passed[1]) > 0:
			d.end(r, "unknown")
		case r.Required:
			d.end(r, "missing")
		}
	}
}

// differ says that two objects with a category give different answers.
func differ(a, b []string) bool { return len(a) > 1 || len(b) > 1 || a[0] != b[0] }

func (d *dumb) decide(p *Path, certain bool, passed [2][]string) {
	for _, r := range d.policy.Rules {
		indices := d.upTo(p, r.Category)
		if len(indices) == 0 {
			if !certain || d.isHidden(r.Category) || len(passed[0])+len(passed[1]) > 0 {
				d.end(r, "unknown")
			}
			continue
		}
		names := func(i int) []string { return p.Objects[indices[i]].tagNames(r.Category) }
		near, far := names(0), names(len(indices)-1)
		chosen, by := far, p.Objects[indices[len(indices)-1]]
		if d.policy.Precedence == PrecedenceNearest {
			chosen, by = near, p.Objects[indices[0]]
		} else if d.hides(false) {
			// The walk may end at any of them.
			alike := true
			for i := 1; i < len(indices); i++ {
				alike = alike && !differ(near, names(i))
			}
			if !alike {
				d.end(r, "unknown")
				continue
			}
		}
		d.conclude(r, chosen, by, passed[1])
		switch {
		case len(chosen) > 1 || !certain || d.hides(false):
		case p.Kind == ComputePath && len(passed[0])+len(passed[1]) == 0 && d.byOrder(p, r.Category):
			d.conflict(ConflictTagOrder, r.Label)
		case len(indices) > 1 && differ(near, far):
			d.conflict(ConflictPrecedence, r.Label)
		}
	}
	if p.Kind != ComputePath {
		d.offPath()
	}
}

// byOrder says that the walk ends at an object that overwrites another answer.
func (d *dumb) byOrder(p *Path, category string) bool {
	indices := d.upTo(p, category)
	n := len(indices)
	if n < 2 || indices[n-1] != d.stop(p) {
		return false
	}
	return differ(p.Objects[indices[n-2]].tagNames(category), p.Objects[indices[n-1]].tagNames(category))
}

func (d *dumb) offPath() {
	rules, p := d.policy.Rules, d.paths[ComputePath]
	if p == nil || d.hides(true) {
		return
	}
	walked := d.stop(p)
	if walked < 0 {
		if isCut(p) {
			return
		}
		walked = len(p.Objects)
	}
	if _, others := over(p, walked); len(others) > 0 {
		return
	}
	var labels []string
	for _, r := range rules {
		value, decided := strings.CutPrefix(d.states[r.Label], "value ")
		if !decided {
			continue
		}
		indices := d.upTo(p, r.Category)
		if len(indices) > 0 && !d.byOrder(p, r.Category) {
			names := p.Objects[indices[len(indices)-1]].tagNames(r.Category)
			if len(names) == 1 && strings.HasPrefix(value, names[0]+" ") {
				continue
			}
		}
		labels = append(labels, r.Label)
	}
	if len(labels) > 0 {
		d.conflict(ConflictOffPath, labels...)
	}
}

func (d *dumb) level(r Rule, order []PathKind) {
	if d.isHidden(r.Category) {
		d.end(r, "unknown")
		return
	}
	var passed [2][]string
	for _, kind := range order {
		p := d.paths[kind]
		if p == nil {
			d.end(r, "unknown")
			return
		}
		if indices := d.having(p, r.Category); len(indices) > 0 {
			o := p.Objects[indices[0]]
			passed = d.passes(p, indices[0], passed)
			d.conclude(r, o.tagNames(r.Category), o, passed[1])
			return
		}
		passed = d.passes(p, end(p), passed)
		if isCut(p) {
			d.end(r, "unknown")
			return
		}
	}
	if len(passed[0])+len(passed[1]) > 0 {
		d.end(r, "unknown")
	} else if r.Required {
		d.end(r, "missing")
	}
}

func (d *dumb) conclude(r Rule, names []string, by *Object, over []string) {
	switch {
	case len(names) > 1:
		d.conflict(ConflictTwoTags, r.Label)
		d.end(r, "ambiguous")
	case InvalidLabelValue(names[0]) != "":
		d.conflict(ConflictInvalidValue, r.Label)
		d.end(r, "invalid")
	default:
		d.states[r.Label] = fmt.Sprintf("value %s by %s over %v", names[0], by, over)
		if len(over) > 0 {
			d.unread = append(d.unread, r.Label)
		}
	}
}

func (d *dumb) end(r Rule, why string) {
	d.states[r.Label] = why
	if r.Required && d.err == nil {
		d.err = map[string]error{"unknown": ErrUnknown, "missing": ErrMissing, "ambiguous": ErrAmbiguous, "invalid": ErrInvalid}[why]
	}
}

func (d *dumb) conflict(kind ConflictKind, labels ...string) {
	d.conflicts = append(d.conflicts, string(kind)+" "+strings.Join(labels, ","))
}

// TestResolveIsTheDumbOne compares label by label and conflict by conflict.
func TestResolveIsTheDumbOne(t *testing.T) {
	seen := map[string]int{}
	property := func(f fleet) bool {
		want := dumbly(f.Policy, f.Paths)
		p, err := Resolve(f.Policy, f.Paths)
		var conflicts []string
		for _, c := range p.Conflicts {
			conflicts = append(conflicts, string(c.Kind)+" "+strings.Join(c.Labels, ","))
			seen[string(c.Kind)]++
			if len(c.Objects) == 0 || !strings.Contains(c.Text(), c.Objects[0].Path) || !strings.Contains(c.Text(), `vCenter "east"`) {
				t.Errorf("a text names no object: %s", c.Text())
			}
		}
		slices.Sort(conflicts)
		if !errors.Is(err, want.err) || (err == nil) != (want.err == nil) || !slices.Equal(conflicts, want.conflicts) {
			t.Logf("got error %v and %v, want %v and %v", err, conflicts, want.err, want.conflicts)
			return false
		}
		if errors.Is(err, ErrNoCategory) {
			seen["no category"]++
		}
		if err != nil {
			seen[outcomeOf(err).Error()]++
			return len(p.Decisions)+len(p.Undecided) == 0
		}
		got := map[string]string{}
		for _, d := range p.Decisions {
			unread := []string{}
			for _, o := range d.Unread {
				unread = append(unread, o.String())
			}
			got[d.Label] = fmt.Sprintf("value %s by %s over %v", d.Value, d.By, unread)
			seen["value"]++
		}
		for _, u := range p.Undecided {
			got[u.Label] = outcomeOf(u.Err).Error()
			seen["undecided"]++
		}
		system := map[string]bool{}
		for _, o := range p.SystemUnread {
			system[o.String()] = true
			seen["system folder"]++
		}
		if !maps.Equal(got, want.states) || !maps.Equal(system, want.system) {
			t.Logf("got %v over %v, want %v over %v", got, system, want.states, want.system)
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 40000, Rand: rand.New(rand.NewSource(3))}); err != nil {
		t.Error(err)
	}
	for _, what := range []string{
		"value", "undecided", "missing", "unknown", "ambiguous", "invalid",
		"precedence", "tag_order", "two_tags", "invalid_value", "off_compute_path",
		"unreadable_tags", "system folder", "no category",
	} {
		if seen[what] < 100 {
			t.Errorf("%s came %d times only", what, seen[what])
		}
	}
}
