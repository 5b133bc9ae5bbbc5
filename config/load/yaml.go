package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// readYAML reads a file in the YAML format. Without a section the file could not be read at all,
// and the problems have the reason.
func readYAML(data []byte, p *Problems) *Section {
	first, second, err := documents(data)
	switch {
	case err != nil && (bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff})):
		p.Errorf(Position{}, "the file is UTF-16 text, and not YAML: save the file as UTF-8")
		return nil
	case err != nil:
		line, content := BrokenLine(data, err)
		p.Errorf(Position{Line: line}, "this is not YAML: %s", syntaxProblem(err, content))
		return nil
	case first == nil:
		p.Errorf(Position{}, "the file is empty: write at least one vCenter under vcenter")
		return nil
	}
	n := nodeOf("", Position{Line: first.Line}, first)
	if n.Kind != Mapping {
		p.Errorf(n.At, "the file is %s: write a mapping with vcenter and, where needed, "+
			"global, labels and nodes", n.describe())
		return nil
	}
	if second != nil {
		p.Errorf(Position{Line: second.Line}, "a second YAML document begins here: "+
			"write one document, without a further --- line")
	}
	root := new(Section)
	newDecoder(p, root, len(data)).mapping(n, root)
	return root
}

// documents parses a file. The first document is nil if it has nothing in it, the second if none
// behind it has something.
func documents(data []byte) (first, second *yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for i := 0; ; i++ {
		n := new(yaml.Node)
		err := decoder.Decode(n)
		switch isHollow := len(n.Content) == 0 || n.Content[0].ShortTag() == "!!null"; {
		case errors.Is(err, io.EOF):
			return first, nil, nil
		case err != nil:
			return nil, nil, err
		case i == 0 && !isHollow:
			first = n.Content[0]
		case i > 0 && (!isHollow || first == nil):
			return first, n, nil
		}
	}
}

// follow returns the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// nodeOf makes a Node of a value of YAML.
func nodeOf(key string, at Position, y *yaml.Node) *Node {
	n := &Node{Key: key, At: at}
	if y.Kind == yaml.AliasNode || y.Anchor != "" {
		n.Style |= Shared
	}
	y = follow(y)
	n.Text, n.size = y.Value, len(y.Content)
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Mapping
		n.children = func(show func(string) string) []*Node { return pairsOf(y, n.At, show) }
	case yaml.SequenceNode:
		n.Kind = Sequence
		n.children = func(func(string) string) (all []*Node) {
			for i, item := range y.Content {
				all = append(all, nodeOf("", at.at(item.Line, fmt.Sprintf("%s[%d]", at.Path, i)), item))
			}
			return all
		}
	default:
		if n.Tag = y.ShortTag(); n.Tag == "!!null" {
			n.Kind = Null
			if y.Anchor != "" {
				n.Style |= Anchored
			}
		}
		if y.Style == 0 {
			n.Style |= Plain
		}
		if y.Style == 0 && n.Kind == Scalar && y.LineComment != "" {
			n.Style |= CutByComment
		}
	}
	return n
}

// pairsOf returns the keys of a mapping, and behind them those of the mappings that it merges in. It takes
// each mapping once, so that neither a cycle nor a pyramid of merges costs more than the file is long.
func pairsOf(y *yaml.Node, at Position, show func(string) string) (all []*Node) {
	isTaken := make(map[*yaml.Node]bool)
	var add func(y *yaml.Node, style Style)
	add = func(y *yaml.Node, style Style) {
		isTaken[y] = true
		var sources []*yaml.Node
		for i := 0; i+1 < len(y.Content); i += 2 {
			key, value := y.Content[i], y.Content[i+1]
			if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
				if list := follow(value); list.Kind == yaml.SequenceNode {
					sources = append(sources, list.Content...)
				} else {
					sources = append(sources, value)
				}
				continue
			}
			n := nodeOf(key.Value, at.at(key.Line, child(at.Path, show(key.Value))), value)
			n.Style |= style
			if y.Style&yaml.FlowStyle != 0 && n.Kind == Null && n.Text == "" && value.Kind == yaml.ScalarNode {
				n.Style |= NoValue
			}
			if name := nodeOf("", n.At, key); key.Kind != yaml.ScalarNode || name.Kind == Null || name.hasOddTag() {
				n.At.Path, n.Style = at.Path, n.Style|Damaged
			}
			all = append(all, n)
		}
		for _, source := range sources {
			n := nodeOf("", at.at(source.Line, at.Path), source)
			if n.Kind != Mapping {
				n.Style |= Merge
				all = append(all, n)
			} else if !isTaken[follow(source)] {
				add(follow(source), Merged)
			}
		}
	}
	add(y, 0)
	return all
}

var lineOf = regexp.MustCompile(`\bline (\d+)`)

// BrokenLine returns the line at which a file stops being YAML, for the error that the
// parser has given, and what is on it: the line after the longest beginning that is. The parser itself
// reports the beginning of the construct around a mistake, or no line at all. Each beginning takes a
// parser, so they are tried from the end downwards, and then from the line that it has reported, each for
// a bounded number of bytes.
func BrokenLine(data []byte, failure error) (int, []byte) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	said := 1
	if m := lineOf.FindStringSubmatch(failure.Error()); m != nil {
		said, _ = strconv.Atoi(m[1])
		said = max(1, min(said, len(lines)))
	}
	for _, line := range []int{len(lines), min(said+2, len(lines))} {
		end := len(bytes.Join(lines[:line], nil))
		for parsed := 0; line > 0 && parsed < 1<<20; line-- {
			end -= len(lines[line-1])
			if _, _, err := documents(data[:end]); err == nil {
				return line, lines[line-1]
			}
			parsed += end
		}
	}
	return said, lines[said-1]
}

// syntaxProblem returns our words for the complaint of the parser, whose own can hold text of the file, such as
// a password that begins with a *.
func syntaxProblem(err error, line []byte) string {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	if bytes.ContainsRune(indent, '\t') {
		return "the line is indented with a tab: indent with spaces"
	}
	found := err.Error()
	for _, known := range []struct{ parser, ours string }{
		{"unknown anchor", "a value begins with *, which makes it a YAML alias: put the value in quotes"},
		{"cannot start any token", "a value begins with a character that YAML reserves, such as @, ` or %: " +
			"put it in quotes"},
		{"mapping values are not allowed", "a second \": \" in the line, or a line that is indented too far: " +
			"put a value with a colon in quotes"},
		{"unexpected end of stream", "a quote or bracket is not closed: close it"},
		{"unexpected document indicator", "a quote is not closed: close it"},
		{"escape character", "a \\ in double quotes begins an escape that YAML does not have: use single quotes"},
		{"escape code", "a \\ in double quotes begins an escape that YAML does not have: use single quotes"},
		{"could not find expected ':'", "a line is not a key with a value: write key: value, " +
			"and indent text that goes on below its key"},
		{"did not find expected key", "a key is indented differently from those before it, " +
			"or text follows a closing quote"},
		{"expected '-' indicator", "an element of a list is indented differently from those before it, or has no -"},
		{"expected ',' or", "a bracket is not closed, or a comma is missing"},
		{"sequence entries are not allowed", "a list begins on the line of its key: begin it on the next line"},
		{"tag", "a value begins with !, which makes it a YAML tag: put the value in quotes"},
		{"UTF-8", "a character is not UTF-8: save the file as UTF-8"},
		{"control characters", "there is a control character: remove it"},
		{"max depth", "it is nested too deeply"},
	} {
		if strings.Contains(found, known.parser) {
			return known.ours
		}
	}
	return "check quotes, colons and indentation"
}
