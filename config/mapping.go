package config

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"vzones/topology/quote"
)

// A pair is one key of a mapping with its value; at is the key's place.
type pair struct {
	name string
	at   position
	node *yaml.Node
	// bare says that the key stands in braces and has no value.
	bare bool
}

// glued reports a key in which a value is too: one that is glued to its key, or,
// in braces, the rest of one that has a comma. The value is in no message, since
// it may be a password.
func (d *decoder) glued(p pair, in position, fields []field) bool {
	key, isGlued := cutGlued(p.name)
	near := slices.IndexFunc(fields, func(f field) bool { return plain(f.name) == plain(key) && useful(fields, f.name) })
	if isGlued && near >= 0 {
		at := position{p.at.line, child(in.path, fields[near].name)}
		d.errorf(at, "is no key with a value: write %s: and the value, with a blank between them", fields[near].name)
		misspelt(fields[near].into, at)
		return true
	}
	if p.bare {
		d.errorf(position{p.at.line, in.path}, "a key in the braces has no value: write key: value, and put a value with a comma in quotes")
	}
	return p.bare
}

// pairs returns the keys of a mapping in the order of the file, then those
// that it merges in (<<) and does not have itself. The node is a mapping or null.
// Messages have the keys as they are shown. Two keys are one if they stand for the same.
func (d *decoder) pairs(n *yaml.Node, at position, show, stands func(key string) string) []pair {
	n = follow(n)
	if null(n) {
		return nil
	}
	f := flattener{decoder: d, at: at, show: show, stands: stands, have: make(map[string]bool), visits: make(map[*yaml.Node]visit)}
	f.add(n)
	return f.pairs
}

// cutGlued cuts a value from a key to which it is glued; what is before it may be
// the key of a password, misspelt, and is that key then.
func cutGlued(key string) (before string, found bool) {
	const password = "password"
	if i := strings.IndexAny(key, ":= \t"); i > 0 && nearest(key[:i], []string{password}) != "" {
		return password, true
	}
	if i := strings.IndexAny(key, ":="); i > 0 {
		return strings.TrimRight(key[:i], " \t"), true
	}
	return key, false
}

// whole shows a key that is a name.
func whole(key string) string { return key }

// secretKeys are the keys whose values are in no message.
var secretKeys = []string{"password", sessionToken}

// gluedSecret returns where in a text the key of a secret ends, in whatever spelling, to
// which something is glued that may be the secret. Without one it returns 0.
func gluedSecret(s string) int {
	for _, secret := range secretKeys {
		want := plain(secret)
		for end := range min(len(s), 2*len(secret)) {
			if have := plain(s[:end]); have == want && plain(s[end:]) != "" {
				return end
			} else if len(have) > len(want) {
				break
			}
		}
		if i := strings.IndexAny(s, ":= \t"); i > 0 && nearest(s[:i], []string{secret}) != "" {
			return i
		}
	}
	return 0
}

// shownName shows a name, but for a secret that may stand in its place with its key.
func shownName(name string) string {
	if end := gluedSecret(name); end > 0 {
		return name[:end] + "…"
	}
	return name
}

// shownKey shows of a key what may be one: a secret may be glued to it.
func shownKey(key string) string {
	end := strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./", r)
	})
	if end < 0 {
		end = len(key)
	}
	if secret := gluedSecret(key); secret > 0 {
		end = min(end, secret)
	}
	if end < len(key) {
		return key[:end] + "…"
	}
	return key
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
	show   func(key string) string
	stands func(key string) string
	pairs  []pair
	have   map[string]bool // what they stand for
	visits map[*yaml.Node]visit
}

func (f *flattener) add(n *yaml.Node) {
	f.visits[n] = under
	var merges []*yaml.Node
	own := make(map[string]pair)
	places := make(map[string]int) // where in f.pairs they are
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.visit()
		key, node := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, node)
			continue
		}
		if key.Kind != yaml.ScalarNode || tagged(key) || null(key) {
			f.errorf(position{key.Line, f.at.path}, "there is a key that is not plain text: write each key out")
			continue
		}
		at := position{key.Line, child(f.at.path, f.show(key.Value))}
		bare := n.Style&yaml.FlowStyle != 0 && null(node) && node.Value == ""
		id := f.stands(key.Value)
		if first, again := own[id]; again {
			if bare {
				// Perhaps it is the rest of a password.
				f.errorf(position{key.Line, f.at.path}, "a key is written twice in the braces: remove one of the two, "+
					"and put a value with a comma in quotes")
				continue
			}
			place, in := places[id]
			switch spelt := first.name != key.Value; {
			case spelt && nothing(node): // Generators write both spellings.
			case spelt && nothing(first.node):
				own[id] = pair{key.Value, at, node, bare}
				if in {
					f.pairs[place] = own[id]
				}
			case spelt:
				f.errorf(at, "is another spelling of %s, which is at line %d already: remove one of the two", f.show(first.name), first.at.line)
			default:
				f.errorf(at, "is written twice, first at line %d: remove one of the two", first.at.line)
			}
			continue
		}
		own[id] = pair{key.Value, at, node, bare}
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

func (f *flattener) merge(n *yaml.Node) {
	sources := []*yaml.Node{n}
	if list := follow(n); list.Kind == yaml.SequenceNode {
		sources = list.Content
	}
	for _, source := range sources {
		f.visit()
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

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// child is the path to a key of a mapping.
func child(path, key string) string {
	switch {
	case !bareKey.MatchString(key):
		return path + "[" + quote.Value(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
