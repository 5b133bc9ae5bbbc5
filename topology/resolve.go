package topology

import (
	"fmt"
	"strings"
)

// Resolve places a machine. The paths are tried in the given order, and the
// first that gives every required category a value decides all rules, so that
// a region and a zone never come from different paths. Without rules the
// placement is empty.
//
// Along a path the walk is the CSI driver's, so that volumes and Nodes agree:
// from the nearest object upwards, a farther tag overwrites a nearer one until
// every category has a value, and there it stops. An object's tags are taken
// together before the walk may stop.
//
// The error is one of
//   - ErrMissing: each path was read to the root and none has every required
//     category; the message says which are missing and where they were looked
//     for.
//   - ErrUnknown: a path could not be read as far as the walk had to go. No
//     later path is tried, for this one might have decided.
//   - ErrAmbiguous: the deciding object has two tags of one category.
//   - ErrInvalid: the deciding tag's name is no label value.
func Resolve(rules Rules, paths []Path) (Placement, error) {
	if len(rules) == 0 {
		return Placement{}, nil
	}
	var lacking []string
	for _, p := range paths {
		found, err := walk(rules, p)
		if err != nil {
			return Placement{}, err
		}
		missing := found.missing(rules)
		if len(missing) == 0 {
			return found.placement(rules, p.Kind)
		}
		if p.Broken != nil {
			return Placement{}, fmt.Errorf("%w: no tag of category %s up to where the %s path ends: %w",
				ErrUnknown, quoted(missing), p.Kind, p.Broken)
		}
		lacking = append(lacking, fmt.Sprintf("no tag of category %s on the %s path (%s)",
			quoted(missing), p.Kind, listed(p.Objects)))
	}
	if len(lacking) == 0 {
		return Placement{}, fmt.Errorf("%w: no path leads upwards from the machine", ErrUnknown)
	}
	return Placement{}, fmt.Errorf("%w: %s", ErrMissing, strings.Join(lacking, "; "))
}

// candidates are the names of the tags that the walk last saw for each
// category, and the object that they are on. More than one name means that the
// object has several tags of the category.
type candidates map[string]candidate

type candidate struct {
	names []string
	by    *Object
}

// walk collects the candidates along one path.
func walk(rules Rules, p Path) (candidates, error) {
	found := candidates{}
	for _, o := range p.Objects {
		if o.TagsErr != nil {
			return nil, fmt.Errorf("%w: tags of %s: %w", ErrUnknown, o, o.TagsErr)
		}
		for _, r := range rules {
			if names := o.named(r.Category); len(names) > 0 {
				found[r.Category] = candidate{names: names, by: o}
			}
		}
		if len(found) == len(rules) {
			break
		}
	}
	return found, nil
}

// missing returns the required categories without a candidate.
func (c candidates) missing(rules Rules) []string {
	var out []string
	for _, r := range rules {
		if _, ok := c[r.Category]; r.Required && !ok {
			out = append(out, r.Category)
		}
	}
	return out
}

func (c candidates) placement(rules Rules, kind PathKind) (Placement, error) {
	p := Placement{Path: kind}
	for _, r := range rules {
		got, ok := c[r.Category]
		if !ok {
			continue
		}
		if len(got.names) > 1 {
			return Placement{}, fmt.Errorf("%w: %s has %d tags of category %q (%s), which allows one",
				ErrAmbiguous, got.by, len(got.names), r.Category, quoted(got.names))
		}
		if reason := invalidLabelValue(got.names[0]); reason != "" {
			return Placement{}, fmt.Errorf("%w: tag %q of category %q on %s cannot be the value of label %s: %s",
				ErrInvalid, got.names[0], r.Category, got.by, r.Label, reason)
		}
		p.Decisions = append(p.Decisions, Decision{Label: r.Label, Value: got.names[0], Category: r.Category, By: got.by})
	}
	return p, nil
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

func listed(objects []*Object) string {
	s := make([]string, len(objects))
	for i, o := range objects {
		s[i] = o.String()
	}
	return strings.Join(s, ", ")
}
