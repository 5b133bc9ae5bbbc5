package topology

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
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
	err       error
}

func dumbly(policy Policy, paths []Path) *dumb {
	d := &dumb{policy: policy, paths: map[PathKind]*Path{}, states: map[string]string{}}
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
	slices.Sort(d.conflicts)
	return d
}

// having returns the indices of the objects with a category, below the first
// whose tags cannot be read.
func having(p *Path, category string) []int {
	var indices []int
	for i, o := range p.Objects {
		if o.TagsErr != nil {
			break
		}
		if len(o.named(category)) > 0 {
			indices = append(indices, i)
		}
	}
	return indices
}

func isCut(p *Path) bool {
	return p.Broken != nil || slices.ContainsFunc(p.Objects, func(o *Object) bool { return o.TagsErr != nil })
}

// stop is the index of the object at which a walk over the categories ends, -1 if
// it goes to the end.
func stop(p *Path, rules Rules) int {
	farthest := -1
	for _, r := range rules {
		indices := having(p, r.Category)
		if len(indices) == 0 {
			return -1
		}
		farthest = max(farthest, indices[0])
	}
	return farthest
}

// upTo returns the indices that count for a walk.
func upTo(p *Path, rules Rules, category string) []int {
	indices, end := having(p, category), stop(p, rules)
	return slices.DeleteFunc(indices, func(i int) bool { return end >= 0 && i > end })
}

func (d *dumb) together(order []PathKind) {
	rules := d.policy.Rules
	tried := 0
	for _, kind := range order {
		p := d.paths[kind]
		if p == nil {
			continue
		}
		tried++
		some, all := false, true
		for _, r := range rules {
			has := len(having(p, r.Category)) > 0
			some, all = some || has, all && (has || !r.Required)
		}
		certain := stop(p, rules) >= 0 || !isCut(p)
		switch {
		case certain && some && all:
			d.decide(p, true)
			return
		case certain:
			continue
		case d.policy.Precedence == PrecedenceNearest && some && all:
			d.decide(p, false)
			return
		}
		for _, r := range rules {
			d.end(r, "unknown")
		}
		return
	}
	for _, r := range rules {
		switch {
		case r.Required && tried > 0:
			d.end(r, "missing")
		case tried < len(order):
			d.end(r, "unknown")
		}
	}
}

func (d *dumb) decide(p *Path, certain bool) {
	rules := d.policy.Rules
	for _, r := range rules {
		indices := upTo(p, rules, r.Category)
		if len(indices) == 0 {
			if !certain {
				d.end(r, "unknown")
			}
			continue
		}
		near, far := p.Objects[indices[0]].named(r.Category), p.Objects[indices[len(indices)-1]].named(r.Category)
		chosen, by := far, p.Objects[indices[len(indices)-1]]
		if d.policy.Precedence == PrecedenceNearest {
			chosen, by = near, p.Objects[indices[0]]
		}
		d.conclude(r, chosen, by)
		switch {
		case len(chosen) > 1 || !certain:
		case p.Kind == ComputePath && byOrder(p, rules, r.Category):
			d.conflict(ConflictTagOrder, r.Label)
		case len(indices) > 1 && (len(near)+len(far) > 2 || near[0] != far[0]):
			d.conflict(ConflictPrecedence, r.Label)
		}
	}
	if p.Kind != ComputePath {
		d.offPath()
	}
}

// byOrder says that the walk ends at an object that overwrites another answer.
func byOrder(p *Path, rules Rules, category string) bool {
	indices := upTo(p, rules, category)
	n := len(indices)
	if n < 2 || indices[n-1] != stop(p, rules) {
		return false
	}
	a, b := p.Objects[indices[n-2]].named(category), p.Objects[indices[n-1]].named(category)
	return len(a) > 1 || len(b) > 1 || a[0] != b[0]
}

func (d *dumb) offPath() {
	rules, p := d.policy.Rules, d.paths[ComputePath]
	if p == nil || stop(p, rules) < 0 && isCut(p) {
		return
	}
	var labels []string
	for _, r := range rules {
		value, decided := strings.CutPrefix(d.states[r.Label], "value ")
		if !decided {
			continue
		}
		indices := upTo(p, rules, r.Category)
		if len(indices) > 0 && !byOrder(p, rules, r.Category) {
			names := p.Objects[indices[len(indices)-1]].named(r.Category)
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
	known := true
	for _, kind := range order {
		p := d.paths[kind]
		if p == nil {
			known = false
			continue
		}
		if indices := having(p, r.Category); len(indices) > 0 {
			o := p.Objects[indices[0]]
			d.conclude(r, o.named(r.Category), o)
			return
		}
		if isCut(p) {
			d.end(r, "unknown")
			return
		}
	}
	if !known {
		d.end(r, "unknown")
	} else if r.Required {
		d.end(r, "missing")
	}
}

func (d *dumb) conclude(r Rule, names []string, by *Object) {
	switch {
	case len(names) > 1:
		d.conflict(ConflictTwoTags, r.Label)
		d.end(r, "ambiguous")
	case InvalidLabelValue(names[0]) != "":
		d.conflict(ConflictInvalidValue, r.Label)
		d.end(r, "invalid")
	default:
		d.states[r.Label] = fmt.Sprintf("value %s by %s", names[0], by)
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

// fleet is a random machine and policy. Few categories and values, and short
// paths that share their ends, make every outcome common.
type fleet struct {
	Policy Policy
	Paths  []Path
}

func (fleet) Generate(r *rand.Rand, _ int) reflect.Value {
	names := []string{"a", "b", "a", "b", "a", "b", "no value"}
	objects := func(n int, what string) (all []*Object) {
		for i := range n {
			o := &Object{Ref: Ref{VCenter: "east", Type: what, ID: fmt.Sprint(i)}, Path: fmt.Sprint("/", what, i)}
			for range r.Intn(3) {
				o.Tags = append(o.Tags, Tag{[]string{"region", "zone", "rack"}[r.Intn(3)], names[r.Intn(len(names))]})
			}
			if r.Intn(25) == 0 {
				o.Tags, o.TagsErr = nil, errors.New("refused")
			}
			all = append(all, o)
		}
		return all
	}
	above := objects(r.Intn(3), "Folder")
	var f fleet
	for _, kind := range DefaultPaths() {
		p := Path{Kind: kind, Objects: slices.Concat(objects(r.Intn(3), "HostSystem"), above)}
		if r.Intn(12) == 0 {
			p.Broken = errors.New("no privilege")
		}
		if r.Intn(12) > 0 {
			f.Paths = append(f.Paths, p)
		}
	}
	f.Policy = Policy{
		Rules: Rules{
			{Label: LabelRegion, Category: "region", Required: r.Intn(3) > 0},
			{Label: LabelZone, Category: "zone", Required: r.Intn(3) > 0},
		}[:1+r.Intn(2)],
		Levels:     Rules{{Label: "rack", Category: "rack", Required: r.Intn(6) == 0}},
		Precedence: []Precedence{"", PrecedenceCSI, PrecedenceNearest}[r.Intn(3)],
	}
	if r.Intn(2) == 0 {
		kinds := DefaultPaths()
		r.Shuffle(3, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		f.Policy.Paths = kinds[:1+r.Intn(3)]
	}
	return reflect.ValueOf(f)
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
			if len(c.Objects) == 0 || !strings.Contains(c.Text(), c.Objects[0].located()) {
				t.Errorf("a text names no object: %s", c.Text())
			}
		}
		slices.Sort(conflicts)
		if !errors.Is(err, want.err) || (err == nil) != (want.err == nil) || !slices.Equal(conflicts, want.conflicts) {
			t.Logf("got error %v and %v, want %v and %v", err, conflicts, want.err, want.conflicts)
			return false
		}
		if err != nil {
			seen[outcomeOf(err).Error()]++
			return len(p.Decisions)+len(p.Undecided) == 0
		}
		got := map[string]string{}
		for _, d := range p.Decisions {
			got[d.Label] = fmt.Sprintf("value %s by %s", d.Value, d.By)
			seen["value"]++
		}
		for _, u := range p.Undecided {
			got[u.Label] = outcomeOf(u.Err).Error()
			seen["undecided"]++
		}
		if !maps.Equal(got, want.states) {
			t.Logf("got %v, want %v", got, want.states)
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 20000, Rand: rand.New(rand.NewSource(3))}); err != nil {
		t.Error(err)
	}
	for _, what := range []string{
		"value", "undecided", "missing", "unknown", "ambiguous", "invalid",
		"precedence", "tag_order", "two_tags", "invalid_value", "off_compute_path",
	} {
		if seen[what] < 100 {
			t.Errorf("%s came %d times only", what, seen[what])
		}
	}
}
