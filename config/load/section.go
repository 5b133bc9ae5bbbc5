package load

import (
	"maps"

	"vzones/config"
)

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
