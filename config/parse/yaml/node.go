package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Follow returns the node that an alias stands for.
func Follow(n *Node) *Node {
	if n.Kind == AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// Null reports whether a node is null.
func Null(n *Node) bool { return n.Kind == ScalarNode && n.ShortTag() == "!!null" }

// Unset reports whether nothing is written behind a key.
func Unset(n *Node) bool {
	n = Follow(n)
	return n.Kind == ScalarNode && (Null(n) || n.Value == "")
}

// nothing reports whether a value is none in whatever key it is: null, an empty text, an empty
// list or the number 0.
func nothing(n *Node) bool {
	n = Follow(n)
	return Unset(n) || n.Kind == SequenceNode && len(n.Content) == 0 || n.ShortTag() == "!!int" && n.Value == "0"
}

// Empty reports whether a value asks for nothing, as the zero values do that
// generators write for everything that they do not set.
func Empty(n *Node) bool {
	n = Follow(n)
	if n.Kind != ScalarNode {
		return len(n.Content) == 0
	}
	return Unset(n) || n.Value == "false" || n.Value == "0"
}

// tagged reports whether a scalar has a tag that means nothing here.
func tagged(n *Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
		return false
	}
	return true
}

// describe names the kind of a node, never its text.
func describe(n *Node) string {
	switch {
	case n.Kind == MappingNode:
		return "a mapping"
	case n.Kind == SequenceNode:
		return "a list"
	case Null(n):
		return "empty"
	case n.ShortTag() == "!!int" || n.ShortTag() == "!!float":
		return "a number"
	case n.ShortTag() == "!!bool":
		return "true or false"
	case tagged(n):
		return "a value with a YAML tag"
	}
	return "text"
}

// Documents parses the first two documents of a file.
func Documents(file io.Reader) ([]*Node, error) {
	decoder := NewDecoder(file)
	var all []*Node
	for len(all) < 2 {
		var n Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &n)
	}
	return all, nil
}

// Encode writes a document. It panics where a node is not valid YAML, which is a mistake
// of the caller: writing to a buffer does not fail.
func Encode(b *bytes.Buffer, n *Node) {
	e := newEncoder(b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
	if err := e.Close(); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
}

// Scalar returns a text, in quotes where another YAML reader might take it for
// something else.
func Scalar(s string) *Node {
	n := new(Node)
	if asLines(s) {
		n.Kind, n.Tag, n.Value, n.Style = ScalarNode, "!!str", s, LiteralStyle
		return n
	}
	// The encoder leaves these two without quotes, which readers take for a merge and
	// for a default.
	if strings.IndexFunc(s, odd) >= 0 || s == "<<" || s == "=" {
		n.Kind, n.Tag, n.Value, n.Style = ScalarNode, "!!str", s, DoubleQuotedStyle
		return n
	}
	if err := n.Encode(s); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
	return n
}

// asLines reports whether a text, such as a certificate, can be shown as lines.
func asLines(s string) bool {
	plain := func(r rune) bool { return r == '\n' || r > ' ' && r < 0x7f || r == ' ' }
	return strings.HasSuffix(s, "\n") && strings.TrimSpace(s) == s[:len(s)-1] && strings.Trim(s, "\n") != "" &&
		strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0
}

// odd reports whether a character is better escaped.
func odd(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) }

// Of returns a value that can be written.
func Of(v any) *Node {
	if s, ok := v.(string); ok {
		return Scalar(s)
	}
	n := new(Node)
	if err := n.Encode(v); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
	return n
}

// Lookup returns what stands under a key, or nil.
func Lookup(mapping *Node, key string) *Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return Follow(mapping.Content[i+1])
		}
	}
	return nil
}
