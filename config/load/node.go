package load

import (
	"cmp"
	"maps"

	"vzones/config"
)

// A Node is a value in a file or a variable, with its key and position, in any format.
type Node struct {
	Key, Text string
	At        Position // of the key
	Kind      NodeKind
	Style     Style
	// Tag is the YAML type of a scalar. It is empty in the other formats, which have text alone.
	Tag string
	// children returns the nodes below, in whose paths the keys are as they are shown.
	children func(show func(key string) string) []*Node
	size     int // how many are below
}

// NodeKind is the shape of a Node.
type NodeKind int

// The kinds.
const (
	Scalar NodeKind = iota
	Null
	Mapping
	Sequence
)

// Style is how a Node is written: a set, for messages.
type Style int

// The styles.
const (
	Plain        Style = 1 << iota // in YAML: without quotes
	Quoted                         // in INI: with quotes
	NoValue                        // in INI a key without =, in YAML one in braces without :
	CutByComment                   // a comment follows
	Glued                          // without a blank before that
	Continued                      // a \ at the end of the line makes the next one a part of it
	Damaged                        // it cannot be read, which was reported
	Shared                         // the text also serves elsewhere in the file, perhaps as a password
	Anchored                       // an anchor without a value
	Merged                         // in another mapping, which YAML merges in
	Merge                          // a merge of YAML that is of no mapping
)

func (n *Node) has(s Style) bool { return n.Style&s != 0 }

// isText reports whether the format knows nothing but text.
func (n *Node) isText() bool { return n.Tag == "" && n.Kind == Scalar }

// asks reports whether it is none of the zero values that generators write for everything that
// they leave unset.
func (n *Node) asks() bool {
	switch {
	case n.Kind == Mapping || n.Kind == Sequence:
		return n.size > 0
	case n.isText():
		return n.Text != "" || n.has(NoValue|Damaged)
	}
	return n.Kind != Null && n.Text != "" && n.Text != "false" && n.Text != "0"
}

// fits reports whether the value has the shape of a kind: a mapping, or something else.
func (n *Node) fits(k config.Kind) bool {
	switch k {
	case config.KindMapping, config.KindEntries, config.KindLabels:
		return n.Kind == Mapping || n.Kind == Null
	case config.KindRule:
		return n.Kind != Sequence
	}
	return n.Kind != Mapping
}

// hasOddTag reports whether a scalar has a tag that means nothing here.
func (n *Node) hasOddTag() bool {
	switch n.Tag {
	case "", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
		return false
	}
	return true
}

// describe names the kind of a node, never its text.
func (n *Node) describe() string {
	switch {
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == Sequence:
		return "a list"
	case n.Kind == Null:
		return "empty"
	case n.hasOddTag():
		return "a value with a YAML tag"
	}
	return cmp.Or(map[string]string{"!!int": "a number", "!!float": "a number", "!!bool": "true or false"}[n.Tag], "text")
}

// A Value is a key's value as a file gives it.
type Value struct {
	At   Position
	Text string
	// List are the elements of a list, or the rows of a table of any keys, each with its Key.
	List []Value
	Key  string
	// Section and Sections are the content of a mapping, or of a list of mappings.
	Section  *Section
	Sections []*Section
	// Data is the value in the result, nil if it is not known.
	Data any
	// Set reports whether the file gives a value, if only a wrong one. What is
	// written but empty (null, "", [], a port of 0) is not set, as in the CPI.
	Set bool
	// Bad reports whether the value was reported as wrong: Data is not to be used, nor
	// the key to be reported as missing. Hidden reports whether the text must not appear in a message.
	Bad, Hidden bool
}

// Usable reports whether the file gives a value that was not reported as wrong.
func (v *Value) Usable() bool { return v.Set && !v.Bad }

// isWritten reports whether the file has the key at all.
func (v *Value) isWritten() bool { return v.At.Line != 0 }

// IsOn reports whether a truth value is true.
func (v *Value) IsOn() bool { on, _ := v.Data.(bool); return on }

// Password returns a secret.
func (v *Value) Password() config.Password { p, _ := v.Data.(config.Password); return p }

// A Section is the content of a mapping of a file.
type Section struct {
	Name string
	At   Position
	In   config.Section
	// Unsure reports whether it holds more than could be read, perhaps the credentials.
	Unsure bool
	// IsShort reports whether a rule is the name of a tag category alone, and no mapping. Bad reports
	// whether it could not be read.
	IsShort, Bad bool
	values       map[string]*Value
}

// V returns the value of a key, by its name in YAML. It is never nil.
func (s *Section) V(key string) *Value {
	v := s.values[key]
	if v == nil {
		v = new(Value)
		s.Put(key, v)
	}
	return v
}

// Put sets the value of a key.
func (s *Section) Put(key string, v *Value) {
	if s.values == nil {
		s.values = make(map[string]*Value)
	}
	s.values[key] = v
}

// Clone returns a copy, whose values can be put without changing the section.
func (s *Section) Clone() *Section {
	c := *s
	c.values = maps.Clone(s.values)
	return &c
}

// sub returns the section below a key.
func (s *Section) sub(key string) *Section {
	v := s.V(key)
	if v.Section == nil {
		v.Section = &Section{In: config.FieldOf(s.In, key).Of}
	}
	return v.Section
}

// either returns the entry's value where it has one.
func either(entry, global *Value) *Value {
	if entry.Set {
		return entry
	}
	return global
}
