package guestinfo

import (
	"errors"
	"fmt"
)

// These bound what is read at all.
const (
	// MaxEncoded bounds the text as the machine has it, in bytes: ErrSize is of a
	// longer one. It has room for MaxPlain in base64.
	MaxEncoded = 96 << 10
	// MaxPlain bounds the text, in bytes, once base64 and gzip are undone. A network
	// configuration with a thousand addresses has half of it.
	MaxPlain = 64 << 10
)

// ErrSize is of a text that is too long to be read at all.
var ErrSize = fmt.Errorf("the text is too long: at most %d bytes are read, and %d once base64 and gzip are undone", MaxEncoded, MaxPlain)

// These bound what a parser is given. What it makes of a text costs many times the text,
// in time and in memory: a node for each sign, and on each level a look at those above.
// A line of a network configuration has three signs, and it is ten levels deep.
const (
	maxLines = 4_000
	maxSigns = 8_000
	maxDepth = 64
)

var (
	errLines = fmt.Errorf("the text has more than %d lines", maxLines)
	errSigns = errors.New("the text has too many keys, items or anchors")
	errDepth = fmt.Errorf("the text is nested more than %d deep", maxDepth)
)

// measure refuses a text that would be costly to parse. It counts the signs that YAML is
// made of wherever they are, in quotes and comments too: there are no more nodes.
func measure(text []byte) error {
	if len(text) > MaxPlain {
		return ErrSize
	}
	lines, signs := 1, 0
	brackets := 0 // that are open
	dashes := 0   // of the line, each of which may open a list or a mapping
	for i, c := range text {
		switch c {
		case '\n', '\r':
			lines++
			dashes = 0
		case '[', '{':
			signs++
			brackets++
		case ']', '}':
			brackets = max(brackets-1, 0)
		case '-', '?':
			signs++
			if i+1 < len(text) && text[i+1] == ' ' {
				dashes++
			}
		case ',', ':', '&', '*', '!', '%', '"', '\'', '|', '>':
			signs++
		}
		if max(brackets, dashes) > maxDepth {
			return errDepth
		}
	}
	switch {
	case lines > maxLines:
		return errLines
	case lines+signs > maxSigns:
		return errSigns
	}
	return nil
}
