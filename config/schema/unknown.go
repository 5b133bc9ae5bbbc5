package schema

import (
	"slices"
	"strings"

	"vzones/config/problem"
	"vzones/topology/suggest"
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

// Useful reports whether a key is one of those to offer: it has an effect, under its own name.
func Useful(fields []Field, name string) bool {
	return !slices.ContainsFunc(fields, func(f Field) bool {
		_, not := f.Into.(interface{ notOffered() })
		return not && f.Name == name
	})
}

func (Ignored) notOffered()   {}
func (Refused) notOffered()   {}
func (Spelling) notOffered()  {}
func (OlderName) notOffered() {}
func (OfSession) notOffered() {}

// Places maps each key of the schema to where it belongs, for a hint where it
// stands elsewhere. A key that belongs in several places gets no hint.
func Places(root []Field) map[string]string {
	where := make(map[string]string)
	note := func(fields []Field, place string) {
		for _, f := range fields {
			if other, known := where[f.Name]; known && other != place {
				where[f.Name] = ""
			} else {
				where[f.Name] = place
			}
		}
	}
	note(root, "at the top level")
	for _, f := range root {
		if g, ok := f.Into.(Group); ok {
			note(g.Fields, "under "+f.Name)
		}
	}
	note(new(Section).Fields(false), "in an entry under vcenter")
	return where
}
