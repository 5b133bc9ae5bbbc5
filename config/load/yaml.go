package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

// readYAML returns nil, and reports the reason, if the file cannot be read at all.
func readYAML(data []byte, p *Problems) *Section {
	first, second, err := documents(data)
	switch {
	case err != nil && (bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff})):
		p.Errorf(Position{}, "the file is UTF-16 text, and not YAML: save the file as UTF-8")
		return nil
	case err != nil:
		// The parser's error can contain text of the file, such as a password that begins with a *.
		p.Errorf(Position{Line: BrokenLine(data, err)}, "this is not YAML: put values with special characters in quotes, "+
			"close quotes and brackets, and indent with spaces")
		return nil
	case first == nil:
		p.Errorf(Position{}, "the file is empty: write at least one vCenter under vcenter")
		return nil
	}
	n := rawOf("", Position{Line: first.Line}, first)
	if n.shape != mapping {
		p.Errorf(n.pos, "the file is %s: write a mapping with vcenter and, where needed, "+
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

// documents returns nil for first or second if they are empty.
func documents(data []byte) (first, second *yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for i := 0; ; i++ {
		n := new(yaml.Node)
		err := decoder.Decode(n)
		isHollow := len(n.Content) == 0 || n.Content[0].ShortTag() == "!!null"
		switch {
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

func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func rawOf(key string, pos Position, y *yaml.Node) *rawValue {
	raw := &rawValue{key: key, pos: pos}
	if y.Kind == yaml.AliasNode || y.Anchor != "" {
		raw.style |= shared
	}
	y = follow(y)
	raw.text = y.Value
	raw.size = len(y.Content)
	switch y.Kind {
	case yaml.MappingNode:
		raw.shape = mapping
		raw.children = func(show func(string) string) []*rawValue { return pairsOf(y, raw.pos, show) }
	case yaml.SequenceNode:
		raw.shape = sequence
		raw.children = func(func(string) string) (all []*rawValue) {
			for i, item := range y.Content {
				all = append(all, rawOf("", pos.withPath(item.Line, fmt.Sprintf("%s[%d]", pos.Path, i)), item))
			}
			return all
		}
	default:
		if raw.tag = y.ShortTag(); raw.tag == "!!null" {
			raw.shape = null
		}
		if y.Style == 0 {
			raw.style |= plain
		}
		if y.Style == 0 && raw.shape == scalar && y.LineComment != "" {
			raw.style |= cutShort
		}
	}
	return raw
}

// pairsOf returns the keys of a mapping, then the keys of the mappings that it merges. It takes each
// mapping once, so that the cost of cycles and nested merges is bounded by the file's size.
func pairsOf(y *yaml.Node, pos Position, show func(string) string) (all []*rawValue) {
	isTaken := make(map[*yaml.Node]bool)
	var add func(y *yaml.Node, inherited style)
	add = func(y *yaml.Node, inherited style) {
		isTaken[y] = true
		var sources []*yaml.Node
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			value := y.Content[i+1]
			if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
				if list := follow(value); list.Kind == yaml.SequenceNode {
					sources = append(sources, list.Content...)
				} else {
					sources = append(sources, value)
				}
				continue
			}
			raw := rawOf(key.Value, pos.withPath(key.Line, child(pos.Path, show(key.Value))), value)
			raw.style |= inherited
			if y.Style&yaml.FlowStyle != 0 && raw.shape == null && raw.text == "" && value.Kind == yaml.ScalarNode {
				raw.style |= noValue
			}
			if name := rawOf("", raw.pos, key); key.Kind != yaml.ScalarNode || name.shape == null || name.isForeign() {
				raw.pos.Path = pos.Path
				raw.style |= damaged
			}
			all = append(all, raw)
		}
		for _, source := range sources {
			raw := rawOf("", pos.withPath(source.Line, pos.Path), source)
			if raw.shape != mapping {
				raw.style |= invalidMerge
				all = append(all, raw)
			} else if !isTaken[follow(source)] {
				add(follow(source), merged)
			}
		}
	}
	add(y, 0)
	return all
}

var lineOf = regexp.MustCompile(`\bline (\d+)`)

// BrokenLine returns the line at which a file stops being YAML: the line after the longest beginning
// that is YAML. The parser reports the beginning of the construct around an error, or no line. The
// search reads a bounded number of bytes.
func BrokenLine(data []byte, failure error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	reported := 1
	if m := lineOf.FindStringSubmatch(failure.Error()); m != nil {
		reported, _ = strconv.Atoi(m[1])
		reported = max(1, min(reported, len(lines)))
	}
	for _, line := range []int{len(lines), min(reported+2, len(lines))} {
		end := len(bytes.Join(lines[:line], nil))
		for parsed := 0; line > 0 && parsed < 1<<20; line-- {
			end -= len(lines[line-1])
			if _, _, err := documents(data[:end]); err == nil {
				return line
			}
			parsed += end
		}
	}
	return reported
}
