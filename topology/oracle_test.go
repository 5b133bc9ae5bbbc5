package topology

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

// layout is a random compute path. Few categories and values make collisions, overwritten tags and
// missing categories likely.
type layout struct{ Objects []*Object }

func (layout) Generate(r *rand.Rand, _ int) reflect.Value {
	var l layout
	for i := range 1 + r.Intn(5) {
		o := &Object{Ref: Ref{VCenter: "east", Type: "Folder", ID: fmt.Sprint("o-", i)}, Path: fmt.Sprint("/", i)}
		for range r.Intn(4) {
			t := Tag{Category: []string{"region", "zone", "backup"}[r.Intn(3)], Name: []string{"a", "b", "c"}[r.Intn(3)]}
			if !slices.Contains(o.Tags, t) {
				o.Tags = append(o.Tags, t)
			}
		}
		if r.Intn(10) == 0 {
			o.Tags, o.TagsErr = nil, ErrNotPermitted
		}
		l.Objects = append(l.Objects, o)
	}
	return reflect.ValueOf(l)
}

func regionAndZone() Policy {
	return Policy{Rules: Rules{
		{Label: LabelRegion, Category: "region", Required: true},
		{Label: LabelZone, Category: "zone", Required: true},
	}}
}

// TestResolveIsTheDriversWalk compares Resolve with driverWalk under every order of the tags: with
// region and zone, with one category for both, and with a third category, as a CSI driver's file may
// have.
func TestResolveIsTheDriversWalk(t *testing.T) {
	one, two, three := regionAndZone(), regionAndZone(), regionAndZone()
	one.Rules[0].Category = "zone"
	three.Rules = append(three.Rules, Rule{Label: "backup", Category: "backup", Required: true})
	for name, policy := range map[string]Policy{"one": one, "two": two, "three": three} {
		t.Run(name, func(t *testing.T) { resolvesLikeTheDriver(t, policy) })
	}
}

func resolvesLikeTheDriver(t *testing.T, policy Policy) {
	placed, rejected, alone := 0, 0, 0
	property := func(l layout) bool {
		p, err := Resolve(policy, []Path{{Kind: ComputePath, Objects: l.Objects}})
		answers, complete, unread := driverAnswers(policy.Categories(), l.Objects)
		var got []string
		for _, category := range policy.Categories() {
			got = append(got, valueOf(p, policy, category))
		}
		over := len(p.SystemUnread) > 0 || has(p, ConflictUnread)
		switch {
		case err == nil && unread != nil:
			// The driver gives the Node no topology, and the error names the missing category.
			alone++
			return over
		case err == nil:
			placed++
			if over {
				return false
			}
			// A placement is the driver's own answer under some order, and its only answer unless a
			// conflict reports that the order matters.
			return complete && slices.ContainsFunc(answers, func(a []string) bool { return slices.Equal(a, got) }) &&
				has(p, ConflictTagOrder) == (len(answers) > 1)
		case !complete:
			rejected++
			return true
		default:
			// No placement fails if all orders agree.
			rejected++
			return len(answers) > 1 && has(p, ConflictTwoTags)
		}
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 3000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	if placed < 300 || rejected < 300 || alone < 100 {
		t.Errorf("the layouts are one-sided: %d placed, %d refused, %d placed where the driver gives up", placed, rejected, alone)
	}
}

// valueOf returns the value of a category's labels, and a text that is no tag's name if they differ.
func valueOf(p Placement, policy Policy, category string) string {
	var values []string
	for _, r := range policy.Rules {
		if r.Category == category {
			values = append(values, p.Value(r.Label))
		}
	}
	if values = slices.Compact(values); len(values) > 1 {
		return fmt.Sprint(values)
	}
	return values[0]
}

func has(p Placement, kind ConflictKind) bool {
	return slices.ContainsFunc(p.Conflicts, func(c Conflict) bool { return c.Kind == kind })
}

func TestOrderOfTagsDecidesNothing(t *testing.T) {
	policy := regionAndZone()
	property := func(l layout) bool {
		first := ""
		same := true
		anyOrder(l.Objects, func(objects []*Object) {
			p, err := Resolve(policy, []Path{{Kind: ComputePath, Objects: objects}})
			got := rendered(p, err)
			if first == "" {
				first = got
			}
			same = same && got == first
		})
		return same
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 1000, Rand: rand.New(rand.NewSource(2))}); err != nil {
		t.Error(err)
	}
}

// driverWalk is the CSI driver's walk in its simplest form: object by object and tag by tag in the
// given order, the last tag seen applies, and the walk stops within an object once every category
// has a value. It gives up at the first object whose tags it cannot read, and returns that object.
func driverWalk(categories []string, objects []*Object) (map[string]string, *Object) {
	got := map[string]string{}
	for _, o := range objects {
		if o.TagsErr != nil {
			return got, o
		}
		for _, t := range o.Tags {
			if slices.Contains(categories, t.Category) {
				got[t.Category] = t.Name
			}
			if len(got) == len(categories) {
				return got, nil
			}
		}
	}
	return got, nil
}

// driverAnswers returns the driver's results under every order of the tags: the values of the
// categories in their order. If a category is missing, complete is false and the answers are partial.
// refused is the object whose tags the driver cannot read.
func driverAnswers(categories []string, objects []*Object) (answers [][]string, complete bool, rejected *Object) {
	complete = true
	anyOrder(objects, func(objects []*Object) {
		var got map[string]string
		got, rejected = driverWalk(categories, objects)
		var values []string
		for _, c := range categories {
			values = append(values, got[c])
		}
		complete = complete && len(got) == len(categories)
		if !slices.ContainsFunc(answers, func(a []string) bool { return slices.Equal(a, values) }) {
			answers = append(answers, values)
		}
	})
	slices.SortFunc(answers, slices.Compare)
	return answers, complete, rejected
}

// driverSays formats the driver's results for a golden file.
func driverSays(c goldenCase) string {
	var categories []string
	for _, r := range c.policy.Rules {
		categories = append(categories, r.Category)
	}
	var compute []*Object
	for _, p := range c.paths {
		if p.Kind == ComputePath {
			compute = p.Objects
		}
	}
	answers, complete, rejected := driverAnswers(categories, compute)
	if rejected != nil {
		return "error: tags of " + rejected.String()
	}
	if !complete {
		var lacking []string
		for i, category := range categories {
			if answers[0][i] == "" {
				lacking = append(lacking, category)
			}
		}
		return "error: no " + strings.Join(lacking, ", ")
	}
	var alternatives []string
	for _, a := range answers {
		alternatives = append(alternatives, strings.Join(a, " / "))
	}
	if len(alternatives) > 1 {
		return fmt.Sprintf("%s, by the order of the tags", strings.Join(alternatives, " or "))
	}
	return alternatives[0]
}

// anyOrder calls f with the objects' tags in every order.
func anyOrder(objects []*Object, f func([]*Object)) {
	var at func(i int, done []*Object)
	at = func(i int, done []*Object) {
		if i == len(objects) {
			f(done)
			return
		}
		permute(objects[i].Tags, func(tags []Tag) {
			o := *objects[i]
			o.Tags = tags
			at(i+1, append(slices.Clone(done), &o))
		})
	}
	at(0, nil)
}

func permute(tags []Tag, f func([]Tag)) {
	if len(tags) <= 1 {
		f(tags)
		return
	}
	for i := range tags {
		rest := append(slices.Clone(tags[:i]), tags[i+1:]...)
		permute(rest, func(r []Tag) { f(append([]Tag{tags[i]}, r...)) })
	}
}
