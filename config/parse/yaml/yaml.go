// Package yaml reads the YAML format into the schema and writes the schema in that format.
// It never says what a value means.
package yaml

import (
	"io"

	"gopkg.in/yaml.v3"
)

// This file alone names the library, for the tests too, so that another one is one line here.
// What virtual machines say goes through a library of its own, see docs/decisions/0034.
type (
	// Node is an element of a YAML document with its position.
	Node = yaml.Node
	// Kind is what a Node is.
	Kind = yaml.Kind
)

// The kinds and styles of Nodes.
const (
	DocumentNode = yaml.DocumentNode
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

// Unmarshal reads the first document into a value.
func Unmarshal(data []byte, into any) error { return yaml.Unmarshal(data, into) }

// Marshal writes a value as a document.
func Marshal(v any) ([]byte, error) { return yaml.Marshal(v) }
