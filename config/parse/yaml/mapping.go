package yaml

import (
	"slices"

	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/internal/suggest"
)

// A Pair is one key of a mapping with its value; at is the key's place.
type Pair struct {
	Name string
	At   problem.Position
	Node *Node
	// bare says that the key stands in braces and has no value.
	bare bool
}

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
		d.Errorf(at, "is no key with a value: write %s: and the value, with a blank between them", fields[near].Name)
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

// whole shows a key that is a name.
func whole(key string) string { return key }

func (d *Decoder) isMapping(n *Node, at problem.Position) bool {
	n = Follow(n)
	if n.Kind == MappingNode || Null(n) {
		return true
	}
	d.Errorf(at, "is %s: write a mapping, its keys indented below it", describe(n))
	return false
}

type visit int

const (
	under visit = iota + 1 // its merges are being followed
	done
)

// flattener follows merge keys. It takes each mapping once, so that neither a
// cycle nor a pyramid of merges costs more than the file is long.
type flattener struct {
	*Decoder
	at     problem.Position
	show   func(key string) string
	stands func(key string) string
	pairs  []Pair
	have   map[string]bool // what they stand for
	visits map[*Node]visit
}

func (f *flattener) add(n *Node) {
	f.visits[n] = under
	var merges []*Node
	own := make(map[string]Pair)
	places := make(map[string]int) // where in f.pairs they are
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.Visit()
		key, node := n.Content[i], n.Content[i+1]
		if key.Kind == ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, node)
			continue
		}
		if key.Kind != ScalarNode || tagged(key) || Null(key) {
			f.Errorf(problem.Position{Line: key.Line, Path: f.at.Path}, "there is a key that is not plain text: write each key out")
			continue
		}
		at := problem.Position{Line: key.Line, Path: problem.Child(f.at.Path, f.show(key.Value))}
		bare := n.Style&FlowStyle != 0 && Null(node) && node.Value == ""
		id := f.stands(key.Value)
		if first, again := own[id]; again {
			if bare {
				// Perhaps it is the rest of a password.
				f.Errorf(problem.Position{Line: key.Line, Path: f.at.Path}, "a key is written twice in the braces: remove one of the two, "+
					"and put a value with a comma in quotes")
				continue
			}
			place, in := places[id]
			switch spelt := first.Name != key.Value; {
			case spelt && nothing(node): // Generators write both spellings.
			case spelt && nothing(first.Node):
				own[id] = Pair{key.Value, at, node, bare}
				if in {
					f.pairs[place] = own[id]
				}
			case spelt:
				f.Errorf(at, "is another spelling of %s, which is at line %d already: remove one of the two", f.show(first.Name), first.At.Line)
			default:
				f.Errorf(at, "is written twice, first at line %d: remove one of the two", first.At.Line)
			}
			continue
		}
		own[id] = Pair{key.Value, at, node, bare}
		// What is nearer wins over what is merged in.
		if !f.have[id] {
			f.have[id] = true
			places[id] = len(f.pairs)
			f.pairs = append(f.pairs, own[id])
		}
	}
	for _, merge := range merges {
		f.merge(merge)
	}
	f.visits[n] = done
}

func (f *flattener) merge(n *Node) {
	sources := []*Node{n}
	if list := Follow(n); list.Kind == SequenceNode {
		sources = list.Content
	}
	for _, source := range sources {
		f.Visit()
		line := source.Line
		source = Follow(source)
		switch {
		case source.Kind != MappingNode:
			f.Errorf(problem.Position{Line: line, Path: f.at.Path}, "merges (<<) %s: only mappings can be merged", describe(source))
		case f.visits[source] == under:
			f.Errorf(problem.Position{Line: line, Path: f.at.Path}, "merges (<<) itself: remove the merge")
		case f.visits[source] == 0:
			f.add(source)
		}
	}
}
