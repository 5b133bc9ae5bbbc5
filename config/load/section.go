package load

import (
	"maps"

	"vzones/config"
)

// A Value is the value of a key in a file.
type Value struct {
	At   Position
	Text string
	// List contains the elements of a list, or the rows of a mapping with arbitrary keys.
	List     []Value
	Key      string
	Section  *Section
	Sections []*Section
	Data     any
	// Set is true if the file contains a value, even an invalid value. As in the CPI, an empty
	// value (null, "", [], a port of 0) is not set.
	Set bool
	// Bad is true if an error was reported: ignore Data, and do not report the key as missing.
	// Hidden is true if messages must not contain the text.
	Bad, Hidden bool
}

// Usable reports whether the value is set and not bad.
func (v *Value) Usable() bool { return v.Set && !v.Bad }

// isWritten reports whether the file contains the key.
func (v *Value) isWritten() bool { return v.At.Line != 0 }

// IsOn reports whether a boolean is true.
func (v *Value) IsOn() bool { on, _ := v.Data.(bool); return on }

// Password returns the value as a password.
func (v *Value) Password() config.Password { p, _ := v.Data.(config.Password); return p }

// A Section is the content of a mapping in a file.
type Section struct {
	Name string
	At   Position
	In   config.Section
	// Unsure is true if parts could not be read, perhaps the credentials.
	Unsure bool
	// IsShort is true if a rule is just the name of a tag category.
	IsShort, Bad bool
	values       map[string]*Value
}

// V returns the value of a key by its YAML name, never nil.
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

// Clone returns a copy whose values can be replaced independently.
func (s *Section) Clone() *Section {
	c := *s
	c.values = maps.Clone(s.values)
	return &c
}

func (s *Section) sub(key string) *Section {
	v := s.V(key)
	if v.Section == nil {
		v.Section = &Section{In: config.FieldOf(s.In, key).Subsection}
	}
	return v.Section
}

func firstSet(entry, global *Value) *Value {
	if entry.Set {
		return entry
	}
	return global
}
