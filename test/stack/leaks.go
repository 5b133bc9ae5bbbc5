package stack

import (
	"slices"
	"strings"
)

// A Search finds any number of secrets in a single pass over a text. The zero value finds none.
type Search struct {
	// byPrefix maps the first two bytes of needles to the needles.
	byPrefix map[[2]byte][]needle
	// firstBytes is the set of the first two bytes, as bits.
	firstBytes [1 << 16 / 64]uint64
	secrets    map[string]bool
}

type needle struct{ text, what string }

// Add adds a secret with a description. It ignores duplicates, and secrets of less than four bytes, which would match
// everywhere.
func (s *Search) Add(description, secret string) {
	if s.secrets[secret] || len(secret) < 4 {
		return
	}
	if s.secrets == nil {
		s.secrets = map[string]bool{}
		s.byPrefix = map[[2]byte][]needle{}
	}
	s.secrets[secret] = true
	for form, text := range forms(secret) {
		start := [2]byte{text[0], text[1]}
		s.byPrefix[start] = append(s.byPrefix[start], needle{text, description + " as " + form})
		n := int(text[0])<<8 | int(text[1])
		s.firstBytes[n/64] |= 1 << (n % 64)
	}
}

// In returns the secrets in a text and their form, such as "password of east as hex", sorted and without duplicates. It
// also searches hex dumps, because client-go dumps binary bodies.
func (s *Search) In(text string) []string {
	found := append(s.find(text), s.find(fromHexDump(text))...)
	slices.Sort(found)
	return slices.Compact(found)
}

func (s *Search) find(text string) []string {
	var found []string
	for i := range len(text) - 1 {
		n := int(text[i])<<8 | int(text[i+1])
		if s.firstBytes[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		for _, needle := range s.byPrefix[[2]byte{text[i], text[i+1]}] {
			if strings.HasPrefix(text[i:], needle.text) {
				found = append(found, needle.what)
			}
		}
	}
	return found
}

// fromHexDump returns the bytes of all hex.Dump output in a text.
func fromHexDump(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t")
		if len(line) < 10 || line[8:10] != "  " || !isHex(line[:8]) {
			continue
		}
		if line[:8] == "00000000" {
			b.WriteByte('\n')
		}
		pairs, _, _ := strings.Cut(line[10:], "|")
		for pair := range strings.FieldsSeq(pairs) {
			if len(pair) == 2 && isHex(pair) {
				b.WriteByte(digit(pair[0])<<4 | digit(pair[1]))
			}
		}
	}
	return b.String()
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func digit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}
