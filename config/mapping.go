package config

import "gopkg.in/yaml.v3"

// A pair is one key of a mapping with its value; at is the key's place.
type pair struct {
	name string
	at   position
	node *yaml.Node
}

// pairs returns the keys of a mapping in the order of the file, then those
// that it merges in (<<) and does not have itself. The node is a mapping or null.
func (d *decoder) pairs(n *yaml.Node, at position) []pair {
	n = follow(n)
	if null(n) {
		return nil
	}
	f := flattener{decoder: d, at: at, have: make(map[string]bool), visits: make(map[*yaml.Node]visit)}
	f.add(n)
	return f.pairs
}

func (d *decoder) isMapping(n *yaml.Node, at position) bool {
	n = follow(n)
	if n.Kind == yaml.MappingNode || null(n) {
		return true
	}
	d.errorf(at, "is %s: write a mapping, its keys indented below it", describe(n))
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
	*decoder
	at     position
	pairs  []pair
	have   map[string]bool
	visits map[*yaml.Node]visit
}

func (f *flattener) add(n *yaml.Node) {
	f.visits[n] = under
	var merges []*yaml.Node
	own := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, node := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, node)
			continue
		}
		if key.Kind != yaml.ScalarNode || tagged(key) || null(key) {
			f.errorf(position{key.Line, f.at.path}, "there is a key that is not plain text: write each key out")
			continue
		}
		at := position{key.Line, child(f.at.path, key.Value)}
		if first, again := own[key.Value]; again {
			f.errorf(at, "is written twice, first at line %d: remove one of the two", first)
			continue
		}
		own[key.Value] = key.Line
		// What is nearer wins over what is merged in.
		if !f.have[key.Value] {
			f.have[key.Value] = true
			f.pairs = append(f.pairs, pair{key.Value, at, node})
		}
	}
	for _, merge := range merges {
		f.merge(merge)
	}
	f.visits[n] = done
}

func (f *flattener) merge(n *yaml.Node) {
	sources := []*yaml.Node{n}
	if list := follow(n); list.Kind == yaml.SequenceNode {
		sources = list.Content
	}
	for _, source := range sources {
		line := source.Line
		source = follow(source)
		switch {
		case source.Kind != yaml.MappingNode:
			f.errorf(position{line, f.at.path}, "merges (<<) %s: only mappings can be merged", describe(source))
		case f.visits[source] == under:
			f.errorf(position{line, f.at.path}, "merges (<<) itself: remove the merge")
		case f.visits[source] == 0:
			f.add(source)
		}
	}
}
