package topology

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"testing/quick"
)

// driverWalk is the CSI driver's walk at its plainest: object by object, tag by
// tag in the order in which they come, the last one seen wins, and the walk
// stops in the middle of an object as soon as every category has a value.
func driverWalk(categories []string, objects []*Object) map[string]string {
	got := map[string]string{}
	for _, o := range objects {
		for _, t := range o.Tags {
			if slices.Contains(categories, t.Category) {
				got[t.Category] = t.Name
			}
			if len(got) == len(categories) {
				return got
			}
		}
	}
	return got
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
		l.Objects = append(l.Objects, o)
	}
	return reflect.ValueOf(l)
}

// TestResolveIsTheDriversWalk compares Resolve with driverWalk under every
// order of the tags.
func TestResolveIsTheDriversWalk(t *testing.T) {
	rules := Rules{
		{Label: LabelRegion, Category: "region", Required: true},
		{Label: LabelZone, Category: "zone", Required: true},
	}
	placed, refused := 0, 0
	property := func(l layout) bool {
		p, err := Resolve(rules, []Path{{Kind: ComputePath, Objects: l.Objects}})
		var answers [][2]string
		complete := true
		anyOrder(l.Objects, func(objects []*Object) {
			got := driverWalk([]string{"region", "zone"}, objects)
			complete = complete && len(got) == 2
			if a := [2]string{got["region"], got["zone"]}; !slices.Contains(answers, a) {
				answers = append(answers, a)
			}
		})
		switch {
		case err == nil:
			placed++
			// A placement is the driver's own answer under some order, and the
			// only one if the order makes no difference.
			return complete && slices.Contains(answers, [2]string{p.Value(LabelRegion), p.Value(LabelZone)})
		case !complete:
			refused++
			return true
		default:
			// Nothing is refused on which all orders agree.
			refused++
			return len(answers) > 1
		}
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 3000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	if placed < 300 || refused < 300 {
		t.Errorf("the layouts are one-sided: %d placed, %d refused", placed, refused)
	}
}

// TestOrderOfTagsDecidesNothing: whatever order the API lists the tags in, the
// answer is the same, errors included.
func TestOrderOfTagsDecidesNothing(t *testing.T) {
	rules := Rules{
		{Label: LabelRegion, Category: "region", Required: true},
		{Label: LabelZone, Category: "zone", Required: true},
	}
	property := func(l layout) bool {
		first := ""
		same := true
		anyOrder(l.Objects, func(objects []*Object) {
			p, err := Resolve(rules, []Path{{Kind: ComputePath, Objects: objects}})
			got := p.Value(LabelRegion) + "/" + p.Value(LabelZone)
			if err != nil {
				got = fmt.Sprint(outcomeOf(err))
			}
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
