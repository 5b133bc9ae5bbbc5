package yaml

import (
	"bytes"
	"fmt"

	"vzones/config/problem"
	"vzones/config/schema"
)

// Writer writes a schema as a file in the YAML format: what is set in it, by
// the keys that the decoder knows.
type Writer struct {
	// Comment returns what stands behind a value; there is none without it.
	Comment func(at problem.Position) string
}

// File returns the file, with a comment at its head.
func (w Writer) File(s *schema.File, head string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", head)
	Encode(&b, w.Mapping(s.Fields()))
	return b.Bytes()
}

// Mapping returns the fields that are set, or nil if none is.
func (w Writer) Mapping(fields []schema.Field) *Node {
	n := &Node{Kind: MappingNode, Tag: "!!map"}
	for _, f := range fields {
		v := written{Writer: w}
		if into, ok := f.Into.(interface{ Give(to schema.Sink) }); ok {
			into.Give(&v)
		}
		if v.node != nil {
			n.Content = append(n.Content, Scalar(f.Name), v.node)
		}
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// written is the value of a key, as a schema.Sink; its node stays nil for what is not set.
type written struct {
	Writer
	node *Node
}

func (v *written) Single(value any, at problem.Position) {
	if elements, ok := value.([]schema.Text); ok {
		v.node = &Node{Kind: SequenceNode, Tag: "!!seq", Style: FlowStyle}
		for _, element := range elements {
			v.node.Content = append(v.node.Content, Scalar(element.V))
		}
	} else {
		v.node = Of(value)
	}
	if v.Comment != nil {
		v.node.LineComment = "# " + v.Comment(at)
	}
}

func (v *written) Keys(fields []schema.Field, empty bool) {
	if v.node = v.Mapping(fields); v.node == nil && empty {
		v.node = &Node{Kind: MappingNode, Tag: "!!map", Style: FlowStyle}
	}
}

func (v *written) Elements(fields []schema.Field) {
	if v.node = v.Mapping(fields); v.node != nil { // whose names are no part of a list
		values := v.node.Content
		v.node = &Node{Kind: SequenceNode, Tag: "!!seq"}
		for i := 1; i < len(values); i += 2 {
			v.node.Content = append(v.node.Content, values[i])
		}
	}
}
