package yaml

import "vzones/config/problem"

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
