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
	lines := 1
	signs := 0
	openBrackets := 0
	// Each dash of a line may open a list or a mapping.
	dashes := 0
	for i, c := range text {
		switch c {
		case '\n', '\r':
			lines++
			dashes = 0
		case '[', '{':
			signs++
			openBrackets++
		case ']', '}':
			openBrackets = max(openBrackets-1, 0)
		case '-', '?':
			signs++
			if i+1 < len(text) && text[i+1] == ' ' {
				dashes++
			}
		case ',', ':', '&', '*', '!', '%', '"', '\'', '|', '>':
			signs++
		}
		if max(openBrackets, dashes) > maxDepth {
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
