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

// dumb is a second implementation of Resolve for rules with tags. It computes with indices of
// objects where Resolve walks, and returns a line for each label and each conflict.
type dumb struct {
	policy    Policy
	paths     map[PathKind]*Path
	states    map[string]string
	conflicts []string
	// unread are the labels decided over objects with unreadable tags, system the system folders
	// among all such objects.
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

// hides reports whether the vCenter does not show a category of an optional rule, or of any rule.
func (d *dumb) hides(orRequired bool) bool {
	return slices.ContainsFunc(d.policy.Rules, func(r Rule) bool { return d.isHidden(r.Category) && (orRequired || !r.Required) })
}

func forbidden(o *Object) bool { return errors.Is(o.TagsErr, ErrNotPermitted) }

func unreadable(o *Object) bool { return o.TagsErr != nil && !forbidden(o) }

// end returns the number of objects of a path that can be walked.
func end(p *Path) int {
	if i := slices.IndexFunc(p.Objects, unreadable); i >= 0 {
		return i
	}
	return len(p.Objects)
}

// having returns the indices of the objects with a visible category, below the first object with
// unreadable tags.
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

// stop returns the index of the object at which a walk over the categories ends, or -1.
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

// upTo returns the indices that a walk takes.
func (d *dumb) upTo(p *Path, category string) []int {
	indices, last := d.having(p, category), d.stop(p)
	return slices.DeleteFunc(indices, func(i int) bool { return last >= 0 && i > last })
}

// over returns the objects without permission below index n, system folders separately.
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

// passes adds the objects without permission below index n.
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
			// The walk may end at any of these objects.
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

// byOrder reports whether the walk ends at an object that overwrites a different value.
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

// fleet is a random VM and policy. Few categories and values, and short paths with common ends, make
// every outcome likely.
type fleet struct {
	Policy Policy
	Paths  []Path
}

func (fleet) Generate(r *rand.Rand, _ int) reflect.Value {
	names := []string{"a", "b", "a", "b", "a", "b", "no value"}
	objects := func(n int, of PathKind, types ...string) (all []*Object) {
		for i := range n {
			what := types[r.Intn(len(types))]
			o := &Object{Ref: Ref{VCenter: "east", Type: what, ID: fmt.Sprint(of, i)}, Path: fmt.Sprint("/", of, i)}
			for range r.Intn(3) {
				o.Tags = append(o.Tags, Tag{[]string{"region", "zone", "rack"}[r.Intn(3)], names[r.Intn(len(names))]})
			}
			switch r.Intn(25) {
			case 0:
				o.Tags, o.TagsErr = nil, errors.New("refused")
			case 1, 2, 3:
				o.Tags, o.TagsErr = nil, fmt.Errorf("reading: %w", ErrNotPermitted)
			}
			all = append(all, o)
		}
		return all
	}
	above := objects(r.Intn(4), "", "Folder", "Datacenter")
	var f fleet
	for _, kind := range DefaultPaths() {
		p := Path{Kind: kind, Objects: slices.Concat(objects(r.Intn(3), kind, "HostSystem", "Folder"), above)}
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
	if r.Intn(4) == 0 {
		f.Policy.Invisible = [][]string{{"region"}, {"zone"}, {"rack"}, {"region", "zone"}, {"other"}}[r.Intn(5)]
	}
	if r.Intn(2) == 0 {
		kinds := DefaultPaths()
		r.Shuffle(3, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		f.Policy.Paths = kinds[:1+r.Intn(3)]
	}
	return reflect.ValueOf(f)
}

// TestContendersAgreeWithResolve checks that exactly the tags behind Resolve's values decide, and that
// each tag occurs once.
func TestContendersAgreeWithResolve(t *testing.T) {
	decided, lost := 0, 0
	property := func(f fleet) bool {
		placed, err := Resolve(f.Policy, f.Paths)
		all := Contenders(f.Policy, f.Paths)
		for _, label := range f.Policy.Labels() {
			d, has := placed.decision(label)
			var deciding []Contender
			for _, c := range all {
				if c.Label == label && c.Fate == FateDecides {
					deciding = append(deciding, c)
				}
			}
			decided += len(deciding)
			switch {
			case has && (len(deciding) != 1 || deciding[0].Tag.Name != d.Value || deciding[0].By.Ref != d.By.Ref):
				t.Logf("label %s is %q by %s, and the contenders say %v", label, d.Value, d.By, deciding)
				return false
			case !has && err == nil && len(deciding) > 0:
				t.Logf("label %s has no value, and the contenders say %v", label, deciding)
				return false
			}
		}
		want, got := tagsFor(f), namesOf(all)
		lost += len(got)
		if !slices.Equal(want, got) {
			t.Logf("there are %v, and the contenders are %v", want, got)
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
	if lost -= decided; decided < 1000 || lost < 1000 {
		t.Errorf("only %d tags decided and %d did not", decided, lost)
	}
}

// tagsFor lists the tags that a label may come from, without duplicates.
func tagsFor(f fleet) []string {
	var all []string
	for _, rules := range []Rules{f.Policy.Rules, f.Policy.Levels} {
		for _, rule := range rules {
			for _, p := range f.Paths {
				if !slices.Contains(f.Policy.paths(), p.Kind) {
					continue
				}
				for _, o := range p.Objects {
					for _, tag := range o.Tags {
						if tag.Category == rule.Category {
							all = append(all, fmt.Sprint(rule.Label, o.Ref, tag))
						}
					}
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func namesOf(all []Contender) []string {
	var names []string
	for _, c := range all {
		names = append(names, fmt.Sprint(c.Label, c.By.Ref, c.Tag))
	}
	slices.Sort(names)
	return names
}

func TestFates(t *testing.T) {
	host := &Object{Ref: Ref{"east", typeHost, "h"}, Tags: []Tag{{"zone", "near"}}}
	cluster := &Object{Ref: Ref{"east", typeCluster, "c"}, Tags: []Tag{{"zone", "mid"}, {"region", "r"}}}
	dc := &Object{Ref: Ref{"east", typeDatacenter, "d"}, Tags: []Tag{{"zone", "far"}}}
	folder := &Object{Ref: Ref{"east", typeFolder, "f"}, Tags: []Tag{{"zone", "beside"}}}
	paths := []Path{{Kind: ComputePath, Objects: []*Object{host, cluster, dc}}, {Kind: FolderPath, Objects: []*Object{folder, dc}}}
	for _, test := range []struct {
		precedence Precedence
		paths      []PathKind
		want       string
	}{
		{PrecedenceCSI, nil, "near overwritten, mid decides, far beyond_walk, beside other_path"},
		{PrecedenceNearest, nil, "near decides, mid farther, far beyond_walk, beside other_path"},
		{PrecedenceCSI, []PathKind{FolderPath, ComputePath}, "near overwritten, mid decides, far beyond_walk, beside incomplete_path"},
		{PrecedenceCSI, []PathKind{FolderPath}, "beside no_decision, far no_decision"},
	} {
		policy := regionAndZone()
		policy.Precedence, policy.Paths = test.precedence, test.paths
		got := ""
		for _, c := range Contenders(policy, paths) {
			if c.Label == LabelZone {
				got += fmt.Sprintf(", %s %s", c.Tag.Name, c.Fate)
			}
			if c.Fate.Text() == "" {
				t.Errorf("fate %s has no text", c.Fate)
			}
		}
		if got[2:] != test.want {
			t.Errorf("precedence %s, paths %v:\ngot  %s\nwant %s", test.precedence, test.paths, got[2:], test.want)
		}
	}
}
