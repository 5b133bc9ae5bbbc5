// Package yaml reads the YAML format into the schema and writes the schema in that format.
// It never says what a value means.
package yaml

import (
	"io"

	"gopkg.in/yaml.v3"
)

// This file alone names the library, so that another one is one line here.
type (
	// Node is an element of a YAML document with its position.
	Node = yaml.Node
	// Kind is what a Node is.
	Kind = yaml.Kind
)

// The kinds and styles of Nodes.
const (
	MappingNode  = yaml.MappingNode
	SequenceNode = yaml.SequenceNode
	ScalarNode   = yaml.ScalarNode
	AliasNode    = yaml.AliasNode

	TaggedStyle       = yaml.TaggedStyle
	FlowStyle         = yaml.FlowStyle
	LiteralStyle      = yaml.LiteralStyle
	DoubleQuotedStyle = yaml.DoubleQuotedStyle
)

// NewDecoder returns a reader of documents.
func NewDecoder(r io.Reader) *yaml.Decoder { return yaml.NewDecoder(r) }

// newEncoder returns a writer of documents.
func newEncoder(w io.Writer) *yaml.Encoder { return yaml.NewEncoder(w) }
