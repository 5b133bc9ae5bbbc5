package load

import (
	"cmp"

	"vzones/config"
)

// A rawValue is a key with its value, in any format.
type rawValue struct {
	key, text string
	pos       Position
	shape     shape
	style     style
	// tag is the YAML type of a scalar, and empty in INI and the environment.
	tag string
	// children returns the values below. Their paths contain each key as show returns it.
	children func(show func(key string) string) []*rawValue
	size     int
}

type shape int

const (
	scalar shape = iota
	null
	mapping
	sequence
)

type style int

const (
	// plain marks a YAML value without quotes.
	plain style = 1 << iota
	// noValue marks an INI key without =, and a YAML key in braces without :.
	noValue
	// cutShort marks a value without quotes that a comment or a continuation follows.
	cutShort
	// damaged marks an unreadable value or key, which the INI reader has reported.
	damaged
	// shared marks a YAML anchor or alias, whose text may also be a password elsewhere.
	shared
	merged
	// invalidMerge marks a YAML merge of something other than a mapping.
	invalidMerge
)

func (r *rawValue) has(s style) bool { return r.style&s != 0 }

// isText reports whether the value comes from a format with only text.
func (r *rawValue) isText() bool { return r.tag == "" && r.shape == scalar }

// isSet reports whether the value is not a zero value, which generators write for unset keys.
func (r *rawValue) isSet() bool {
	switch {
	case r.shape == mapping || r.shape == sequence:
		return r.size > 0
	case r.isText():
		return r.text != "" || r.has(noValue|damaged)
	}
	return r.shape != null && r.text != "" && r.text != "false" && r.text != "0"
}

func (r *rawValue) fits(k config.Kind) bool {
	switch k {
	case config.KindMapping, config.KindEntries, config.KindLabels:
		return r.shape == mapping || r.shape == null
	case config.KindRule:
		return r.shape != sequence
	}
	return r.shape != mapping
}

// isForeign reports whether the value has a tag or an anchor that a configuration cannot use.
func (r *rawValue) isForeign() bool {
	return r.hasUnknownTag() || r.shape == null && r.has(shared)
}

func (r *rawValue) hasUnknownTag() bool {
	switch r.tag {
	case "", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
		return false
	}
	return true
}

// describe never returns the value's text.
func (r *rawValue) describe() string {
	switch {
	case r.shape == mapping:
		return "a mapping"
	case r.shape == sequence:
		return "a list"
	case r.shape == null:
		return "empty"
	case r.hasUnknownTag():
		return "a value with a YAML tag"
	}
	types := map[string]string{"!!int": "a number", "!!float": "a number", "!!bool": "true or false"}
	return cmp.Or(types[r.tag], "text")
}
