package yaml

import (
	"slices"

	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/topology/suggest"
)

// glued reports a key in which a value is too: one that is glued to its key, or,
// in braces, the rest of one that has a comma. The value is in no message, since
// it may be a password.
func (d *Decoder) glued(p Pair, in problem.Position, fields []schema.Field) bool {
	key, isGlued := schema.CutGlued(p.Name)
	near := slices.IndexFunc(fields, func(f schema.Field) bool {
		return suggest.Plain(f.Name) == suggest.Plain(key) && schema.Useful(fields, f.Name)
	})
	if isGlued && near >= 0 {
		at := problem.Position{Line: p.At.Line, Path: problem.Child(in.Path, fields[near].Name)}
		d.Errorf(at, "is not a key with a value: write %s: and the value, with a blank between them", fields[near].Name)
		schema.Misspelled(fields[near].Into, at)
		return true
	}
	if p.bare {
		d.Errorf(problem.Position{Line: p.At.Line, Path: in.Path}, "a key in the braces has no value: write key: value, and put a value with a comma in quotes")
	}
	return p.bare
}

// pairs returns the keys of a mapping in the order of the file, then those
// that it merges in (<<) and does not have itself. The node is a mapping or null.
// Messages have the keys as they are shown. Two keys are one if they stand for the same.
func (d *Decoder) pairs(n *Node, at problem.Position, show, stands func(key string) string) []Pair {
	n = Follow(n)
	if Null(n) {
		return nil
	}
	f := flattener{Decoder: d, at: at, show: show, stands: stands, have: make(map[string]bool), visits: make(map[*Node]visit)}
	f.add(n)
	return f.pairs
}

func (d *Decoder) isMapping(n *Node, at problem.Position) bool {
	n = Follow(n)
	if n.Kind == MappingNode || Null(n) {
		return true
	}
	d.Errorf(at, "is %s: write a mapping, its keys indented below it", describe(n))
	return false
}
