package schema

import (
	"slices"

	"vzones/config/check"
	"vzones/config/problem"
)

// FillIn gives each single value that is not set its default, in words that it can be written
// with, but for those of some fields.
func FillIn(fields []Field, but ...Target) {
	for _, f := range fields {
		if t, ok := f.Into.(interface{ fillIn(f Field, but []Target) }); ok && !slices.Contains(but, f.Into) {
			t.fillIn(f, but)
		}
	}
}

func (v *Value[T]) fillIn(f Field, _ []Target) {
	if !v.Set {
		unset, _ := f.Default.(T)
		*v = Value[T]{V: unset, At: problem.Position{Line: problem.InDefault}, Set: true}
	}
}

func (g Group) fillIn(f Field, but []Target) {
	if f.Name != "global" { // each entry has what it inherits
		FillIn(g.Fields, but...)
	}
}

func (t *Table) fillIn(Field, []Target) { t.shown = true }

// Inherit gives the entry what it leaves unset and the global section has.
func (s *Section) Inherit(global *Section) {
	from := global.Fields(true) // which begin as those of an entry
	for i, f := range s.Fields(false) {
		if f.Inherited {
			f.Into.(interface{ inherit(Target) }).inherit(from[i].Into)
		}
	}
}

func (v *Value[T]) inherit(global Target) { *v = Either(*v, *global.(*Value[T])) }

// Check reports values that are not among the words of their field, or outside of its limits.
func Check(fields []Field, p *problem.List) {
	for _, f := range fields {
		if t, ok := f.Into.(interface {
			check(f Field, p *problem.List)
		}); ok {
			t.check(f, p)
		} else if t, ok := f.Into.(interface{ parts() []Field }); ok {
			Check(t.parts(), p)
		}
	}
}

func (v *Value[T]) check(f Field, p *problem.List) {
	word, isWord := any(v.V).(string)
	n, isNumber := any(v.V).(int)
	switch {
	case !v.Usable():
	case isWord && len(f.Words) > 0 && !slices.Contains(f.Words, word):
		v.Bad = Reject(p, Text{At: v.At, Hidden: v.Hidden}, &check.Mistake{
			What: "is not a valid " + f.Name + ": write " + check.Alternatives(f.Words), Detail: check.Found(word)})
	case isNumber && !f.Limits.Allow(n):
		v.Bad = true
		p.Errorf(v.At, "%d is not a valid %s: write %v", n, f.Limits.What, f.Limits)
	}
}

// Reject reports what is wrong with a value, if anything is.
func Reject(p *problem.List, v Text, wrong *check.Mistake) bool {
	switch {
	case wrong == nil:
	case v.Hidden:
		p.Errorf(v.At, "%s", wrong.What)
	default:
		p.Errorf(v.At, "%s%s", wrong.What, p.Words.Example(wrong.Detail))
	}
	return wrong != nil
}

// A Sink takes what is set, to write it in a format: a value of any kind, a mapping, which
// may be written even if it is empty, or a list of mappings.
type Sink interface {
	Single(v any, at problem.Position)
	Keys(fields []Field, empty bool)
	Elements(fields []Field)
}

// Give gives the value if it is set.
func (v *Value[T]) Give(to Sink) {
	if v.Set {
		to.Single(v.V, v.At)
	}
}

// Give gives all rows, also those without a value.
func (t *Table) Give(to Sink) {
	var fields []Field
	for _, r := range t.Rows {
		fields = append(fields, Field{Name: r.Key, Into: &Text{V: r.Value.V, At: r.At, Set: true}})
	}
	if fields == nil && t.shown {
		to.Single(map[string]string{}, problem.Position{Line: problem.InDefault})
	} else {
		to.Keys(fields, false)
	}
}

// Give gives the keys.
func (g Group) Give(to Sink) { to.Keys(g.Fields, g.entry) }

// Give gives the entries, also those without keys.
func (e Entries) Give(to Sink) { to.Keys(e.parts(), false) }

// Give gives the levels.
func (e Elements) Give(to Sink) { to.Elements(e.parts()) }

// Give gives the tag category alone where that is how the rule is written.
func (r *Rule) Give(to Sink) {
	if r.Short {
		r.Tag.Give(to)
	} else {
		to.Keys(r.Fields(), false)
	}
}

func (g Group) parts() []Field { return g.Fields }

func (r *Rule) parts() []Field { return r.Fields() }

func (e Entries) parts() []Field {
	var all []Field
	for _, s := range e.VCenters {
		all = append(all, Field{Name: s.Name, Into: Group{Fields: s.Fields(false), entry: true}})
	}
	return all
}

func (e Elements) parts() []Field {
	var all []Field
	for _, l := range e.Levels {
		all = append(all, Field{Into: Group{Fields: l.Fields()}})
	}
	return all
}
