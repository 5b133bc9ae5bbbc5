package load

import (
	"cmp"

	"vzones/config"
)

// A rawValue is a value as a file or a variable contains it, in any format, with its key.
type rawValue struct {
	key, text string
	// at is the position of the key.
	at    Position
	shape shape
	style style
	// tag is the YAML type of a scalar. It is empty in the other formats, whose values are all text.
	tag string
	// children returns the values below. Their paths contain each key as show returns it.
	children func(show func(key string) string) []*rawValue
	// size is the number of values below.
	size int
}

// A shape is the structure of a rawValue.
type shape int

const (
	scalar shape = iota
	null
	mapping
	sequence
)

// A style is a set of properties of the text from which a rawValue was read.
type style int

const (
	// plain marks a YAML value without quotes.
	plain style = 1 << iota
	// noValue marks an INI key without =, and a YAML key in braces without :.
	noValue
	// cutShort marks a value without quotes which may be longer than it was read: a comment follows, or it was
	// continued on the next line.
	cutShort
	// damaged marks a value or key that cannot be read. In INI that was reported.
	damaged
	// shared marks a YAML anchor or alias: the text may also be a password elsewhere in the file.
	shared
	// merged marks a key that YAML merges in from another mapping.
	merged
	// invalidMerge marks a YAML merge of something else than a mapping.
	invalidMerge
)

func (r *rawValue) has(s style) bool { return r.style&s != 0 }

// isText reports whether the format knows nothing but text.
func (r *rawValue) isText() bool { return r.tag == "" && r.shape == scalar }

// isSet reports whether the value is more than a generator's zero value.
func (r *rawValue) isSet() bool {
	switch {
	case r.shape == mapping || r.shape == sequence:
		return r.size > 0
	case r.isText():
		return r.text != "" || r.has(noValue|damaged)
	}
	return r.shape != null && r.text != "" && r.text != "false" && r.text != "0"
}

// fits reports whether the value has the shape of a kind: a mapping, or something else.
func (r *rawValue) fits(k config.Kind) bool {
	switch k {
	case config.KindMapping, config.KindEntries, config.KindLabels:
		return r.shape == mapping || r.shape == null
	case config.KindRule:
		return r.shape != sequence
	}
	return r.shape != mapping
}

// isForeign reports whether YAML took a text for something that a configuration has no use for: a tag, or an anchor
// without a value.
func (r *rawValue) isForeign() bool {
	return r.hasUnknownTag() || r.shape == null && r.has(shared)
}

// hasUnknownTag reports whether a scalar has a tag without a meaning in a configuration.
func (r *rawValue) hasUnknownTag() bool {
	switch r.tag {
	case "", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
		return false
	}
	return true
}

// describe names the shape or the type of a value, and never contains its text.
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
