package yaml

import (
	"bytes"
	"fmt"

	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
)

// Writer writes a schema as a file in the YAML format: what is set in it, by
// the keys that the decoder knows.
type Writer struct {
	// Comment returns what stands behind a value; there is none without it.
	Comment func(at problem.Position) string
	Schema  *schema.File
}

// File returns the file, with a comment at its head.
func (w Writer) File(s *schema.File, head string) []byte {
	w.Schema = s
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", head)
	Encode(&b, w.Mapping(s.Fields()))
	return b.Bytes()
}

// Mapping returns the fields that are set, or nil if none is.
func (w *Writer) Mapping(fields []schema.Field) *Node {
	n := &Node{Kind: MappingNode, Tag: "!!map"}
	for _, f := range fields {
		if v := w.value(f.Into); v != nil {
			n.Content = append(n.Content, Scalar(f.Name), v)
		}
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// value returns nil for what is not set.
func (w *Writer) value(into schema.Target) *Node {
	switch into := into.(type) {
	case schema.Group:
		return w.Mapping(into.Fields)
	case schema.Entries:
		return w.entries()
	case schema.Elements:
		return w.levels()
	case *schema.Rule:
		if into.Short {
			return w.value(&into.Tag)
		}
		return w.Mapping(into.Fields())
	case schema.Ignored, schema.Refused:
		return nil
	case *schema.Text:
		return plainValue(w, *into, Scalar(into.V))
	case *schema.Secret:
		return plainValue(w, *into, Scalar(into.V.String()))
	case *schema.Number:
		return plainValue(w, *into, &Node{Kind: ScalarNode, Tag: "!!int", Value: fmt.Sprint(into.V)})
	case *schema.Toggle:
		return plainValue(w, *into, &Node{Kind: ScalarNode, Tag: "!!bool", Value: fmt.Sprint(into.V)})
	case *schema.Table:
		return w.table(into)
	case *schema.List:
		n := &Node{Kind: SequenceNode, Tag: "!!seq", Style: FlowStyle}
		for _, element := range into.V {
			n.Content = append(n.Content, Scalar(element.V))
		}
		return plainValue(w, *into, n)
	}
	panic(fmt.Sprintf("config: a %T cannot be written", into))
}

func plainValue[T any](w *Writer, v schema.Value[T], n *Node) *Node {
	if !v.Set {
		return nil
	}
	if w.Comment != nil {
		n.LineComment = "# " + w.Comment(v.At)
	}
	return n
}

// table returns all rows, the empty ones too; without any nothing, unless what is
// in force is to be seen.
func (w *Writer) table(t *schema.Table) *Node {
	n := &Node{Kind: MappingNode, Tag: "!!map"}
	if len(t.Rows) == 0 {
		if w.Comment == nil {
			return nil
		}
		n.Style = FlowStyle
		return plainValue(w, schema.Toggle{At: problem.Position{Line: problem.InDefault}, Set: true}, n)
	}
	for _, r := range t.Rows {
		n.Content = append(n.Content, Scalar(r.Key), plainValue(w, schema.Text{At: r.At, Set: true}, Scalar(r.Value.V)))
	}
	return n
}

func (w *Writer) entries() *Node {
	if len(w.Schema.VCenters) == 0 {
		return nil
	}
	n := &Node{Kind: MappingNode, Tag: "!!map"}
	for _, e := range w.Schema.VCenters {
		v := w.Mapping(e.Fields(false))
		if v == nil {
			v = &Node{Kind: MappingNode, Tag: "!!map", Style: FlowStyle}
		}
		n.Content = append(n.Content, Scalar(e.Name), v)
	}
	return n
}

func (w *Writer) levels() *Node {
	if len(w.Schema.Topology.Levels) == 0 {
		return nil
	}
	n := &Node{Kind: SequenceNode, Tag: "!!seq"}
	for _, l := range w.Schema.Topology.Levels {
		n.Content = append(n.Content, w.Mapping(l.Fields()))
	}
	return n
}
