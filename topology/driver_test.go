package topology

import (
	"fmt"
	"slices"
	"strings"
)

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
