package schema

import (
	"slices"
	"strings"

	"vzones/config/internal/problem"
	"vzones/config/internal/suggest"
)

// Unknown reports a key that the schema does not have in this place; place is
// where it belongs, if that is known.
func Unknown(p *problem.List, name string, at problem.Position, fields []Field, place string) {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Name
	}
	if near := suggest.Nearest(name, known); near != "" {
		meant := fields[slices.Index(known, near)].Into
		if r, ok := meant.(Refused); ok && suggest.Plain(near) == suggest.Plain(name) {
			p.Errorf(at, "%s", r.Why)
			return
		}
		p.Errorf(at, "unknown key: did you mean %s?", near)
		Misspelled(meant, at)
		return
	}
	if place != "" {
		p.Errorf(at, "unknown key in this place: it belongs %s", place)
		return
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !Useful(fields, name) })
	slices.Sort(known)
	p.Errorf(at, "unknown key: remove it, or write one of %s", strings.Join(known, ", "))
}

func Useful(fields []Field, name string) bool {
	for _, f := range fields {
		switch f.Into.(type) {
		case Ignored, Refused, Spelling, OlderName, OfCSI:
			if f.Name == name {
				return false
			}
		}
	}
	return true
}

// Misspelled takes what stands under a misspelt key as given, if only wrongly, so
// that it is not reported as missing too.
func Misspelled(into any, at problem.Position) {
	switch into := into.(type) {
	case Group:
		if into.Unsure != nil {
			*into.Unsure = true
		}
	case Entries:
		*into.Broken = true
	case *Text:
		spoil(into, at)
	case *Secret:
		spoil(into, at)
	case *List:
		spoil(into, at)
	case *Rule:
		into.Bad = true
	case Spelling:
		Misspelled(into.Into, at)
	}
}
