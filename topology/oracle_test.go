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

// layout is a random compute path. Few categories and values make collisions,
// overwritten tags and missing categories common.
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

// TestResolveIsTheDriversWalk compares Resolve with driverWalk under every
// order of the tags: with region and zone, with both of one category, and with a
// category more, as the driver's own file can have.
func TestResolveIsTheDriversWalk(t *testing.T) {
	one, two, three := regionAndZone(), regionAndZone(), regionAndZone()
	one.Rules[0].Category = "zone"
	three.Rules = append(three.Rules, Rule{Label: "backup", Category: "backup", Required: true})
	for name, policy := range map[string]Policy{"one": one, "two": two, "three": three} {
		t.Run(name, func(t *testing.T) { resolvesLikeTheDriver(t, policy) })
	}
}

func resolvesLikeTheDriver(t *testing.T, policy Policy) {
	placed, refused, alone := 0, 0, 0
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
			// The driver gives the Node no topology, and what it lacks is named.
			alone++
			return over
		case err == nil:
			placed++
			if over {
				return false
			}
			// A placement is the driver's own answer under some order, and the
			// only one if the order makes no difference. Where it does, that is said.
			return complete && slices.ContainsFunc(answers, func(a []string) bool { return slices.Equal(a, got) }) &&
				has(p, ConflictTagOrder) == (len(answers) > 1)
		case !complete:
			refused++
			return true
		default:
			// Nothing is refused on which all orders agree.
			refused++
			return len(answers) > 1 && has(p, ConflictTwoTags)
		}
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 3000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	if placed < 300 || refused < 300 || alone < 100 {
		t.Errorf("the layouts are one-sided: %d placed, %d refused, %d placed where the driver gives up", placed, refused, alone)
	}
}

// valueOf returns the value of the labels of a category, and what no tag is named if they
// differ.
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

// TestOrderOfTagsDecidesNothing: whatever order the API lists the tags in, the
// answer is the same, errors included.
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

// driverWalk is the CSI driver's walk at its plainest: object by object, tag by
// tag in the order in which they come, the last one seen wins, and the walk
// stops in the middle of an object as soon as every category has a value. It asks
// for the tags of one object after the other, and gives up at the first that it
// gets none of, which is returned; beyond where it stops it asks for nothing.
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

// driverAnswers returns what the driver says under every order of the tags: the
// values of the categories in their order. A category that has none is an error,
// whatever the order; then the answers are what it does find. So is an object
// whose tags it cannot read.
func driverAnswers(categories []string, objects []*Object) (answers [][]string, complete bool, refused *Object) {
	complete = true
	anyOrder(objects, func(objects []*Object) {
		var got map[string]string
		got, refused = driverWalk(categories, objects)
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
	return answers, complete, refused
}

// driverSays puts the driver's answers for a golden file into words. It reads the
// compute path only.
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
	answers, complete, refused := driverAnswers(categories, compute)
	if refused != nil {
		return "error: tags of " + refused.String()
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

// anyOrder calls f with the objects' tags in every possible order.
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
