package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// yamlWriter writes a schema as a file in the YAML format: what is set in it, by
// the keys that the decoder knows.
type yamlWriter struct {
	// comment returns what stands behind a value; there is none without it.
	comment func(at position) string
	schema  *schema
}

// file returns the file, with a comment at its head.
func (w yamlWriter) file(s *schema, head string) []byte {
	w.schema = s
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", head)
	encode(&b, w.mapping(s.fields()))
	return b.Bytes()
}

// encode writes a document. It panics where a node is no YAML, which is a mistake
// of the caller: writing to a buffer does not fail.
func encode(b *bytes.Buffer, n *yaml.Node) {
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
	if err := e.Close(); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
}

// mapping returns the fields that are set, or nil if none is.
func (w *yamlWriter) mapping(fields []field) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fields {
		if v := w.value(f.into); v != nil {
			n.Content = append(n.Content, scalar(f.name), v)
		}
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// value returns nil for what is not set.
func (w *yamlWriter) value(into any) *yaml.Node {
	switch into := into.(type) {
	case group:
		return w.mapping(into.fields)
	case entries:
		return w.entries()
	case elements:
		return w.levels()
	case *rule:
		if into.short {
			return w.value(&into.tag)
		}
		return w.mapping(into.fields())
	case ignored, refused:
		return nil
	case *text:
		return plainValue(w, *into, scalar(into.v))
	case *secret:
		return plainValue(w, *into, scalar(into.v.String()))
	case *number:
		return plainValue(w, *into, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(into.v)})
	case *toggle:
		return plainValue(w, *into, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(into.v)})
	case *table:
		return w.table(into)
	case *list:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, element := range into.v {
			n.Content = append(n.Content, scalar(element.v))
		}
		return plainValue(w, *into, n)
	}
	panic(fmt.Sprintf("config: a %T cannot be written", into))
}

func plainValue[T any](w *yamlWriter, v value[T], n *yaml.Node) *yaml.Node {
	if !v.set {
		return nil
	}
	if w.comment != nil {
		n.LineComment = "# " + w.comment(v.at)
	}
	return n
}

// table returns all rows, the empty ones too; without any nothing, unless what is
// in force is to be seen.
func (w *yamlWriter) table(t *table) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if len(t.rows) == 0 {
		if w.comment == nil {
			return nil
		}
		n.Style = yaml.FlowStyle
		return plainValue(w, toggle{at: position{line: inDefault}, set: true}, n)
	}
	for _, r := range t.rows {
		n.Content = append(n.Content, scalar(r.key), plainValue(w, text{at: r.at, set: true}, scalar(r.value.v)))
	}
	return n
}

func (w *yamlWriter) entries() *yaml.Node {
	if len(w.schema.vcenters) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, e := range w.schema.vcenters {
		v := w.mapping(e.fields(false))
		if v == nil {
			v = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
		}
		n.Content = append(n.Content, scalar(e.name), v)
	}
	return n
}

func (w *yamlWriter) levels() *yaml.Node {
	if len(w.schema.topology.levels) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, l := range w.schema.topology.levels {
		n.Content = append(n.Content, w.mapping(l.fields()))
	}
	return n
}

// scalar returns a text, in quotes where another YAML reader might take it for
// something else.
func scalar(s string) *yaml.Node {
	n := new(yaml.Node)
	if asLines(s) {
		n.Kind, n.Tag, n.Value, n.Style = yaml.ScalarNode, "!!str", s, yaml.LiteralStyle
		return n
	}
	// The encoder leaves these two without quotes, which readers take for a merge and
	// for a default.
	if strings.IndexFunc(s, odd) >= 0 || s == "<<" || s == "=" {
		n.Kind, n.Tag, n.Value, n.Style = yaml.ScalarNode, "!!str", s, yaml.DoubleQuotedStyle
		return n
	}
	if err := n.Encode(s); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
	return n
}

// asLines says that a text, such as a certificate, can be shown as lines.
func asLines(s string) bool {
	plain := func(r rune) bool { return r == '\n' || r > ' ' && r < 0x7f || r == ' ' }
	return strings.HasSuffix(s, "\n") && strings.TrimSpace(s) == s[:len(s)-1] && strings.Trim(s, "\n") != "" &&
		strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0
}

// odd says that a character is better escaped.
func odd(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) }
