package guestinfo

import (
	"errors"
	"fmt"
)

const (
	// MaxEncoded bounds the encoded text in bytes.
	MaxEncoded = 96 << 10
	// MaxPlain bounds the decoded text in bytes.
	MaxPlain = 64 << 10
)

// ErrSize rejects a text longer than MaxEncoded or MaxPlain.
var ErrSize = fmt.Errorf("the text is too long: at most %d bytes are read, and %d after base64 and gzip decoding", MaxEncoded, MaxPlain)

// These bound the parser's input. A sign is a YAML indicator, such as a colon. Parsing creates a node for
// each sign and scans the enclosing levels at each level. Network configurations have about three
// signs a line and ten levels.
const (
	maxLines = 4_000
	maxSigns = 8_000
	maxDepth = 64
)

var (
	errLines = fmt.Errorf("the text has more than %d lines", maxLines)
	errSigns = errors.New("the text has too many keys, items or anchors")
	errDepth = fmt.Errorf("the text is nested more than %d levels deep", maxDepth)
)

// checkCost rejects a text that is expensive to parse. It also counts signs in quotes and comments, so
// the nodes are never more.
func checkCost(text []byte) error {
	if len(text) > MaxPlain {
		return ErrSize
	}
	lines := 1
	signs := 0
	openBrackets := 0
	// Each dash or question mark of a line may open a level.
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
