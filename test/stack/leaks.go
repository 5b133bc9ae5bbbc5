package stack

import (
	"slices"
	"strings"
)

// A Search finds any number of secrets in a single pass over a text. The zero value finds none.
type Search struct {
	// by maps the first two bytes of needles to the needles.
	by map[[2]byte][]needle
	// begins is the set of the first two bytes, as bits.
	begins [1 << 16 / 64]uint64
	known  map[string]bool
}

type needle struct{ text, what string }

// Add adds a secret with a description. It ignores duplicates, and secrets of less than four bytes, which would match
// everywhere.
func (s *Search) Add(what, secret string) {
	if s.known[secret] || len(secret) < 4 {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
		s.by = map[[2]byte][]needle{}
	}
	s.known[secret] = true
	for form, text := range forms(secret) {
		start := [2]byte{text[0], text[1]}
		s.by[start] = append(s.by[start], needle{text, what + " as " + form})
		n := int(text[0])<<8 | int(text[1])
		s.begins[n/64] |= 1 << (n % 64)
	}
}

// In returns the secrets in a text and their form, such as "password of east as hex", sorted and without duplicates. It
// also searches hex dumps, because client-go dumps binary bodies.
func (s *Search) In(text string) []string {
	found := append(s.in(text), s.in(fromHexDump(text))...)
	slices.Sort(found)
	return slices.Compact(found)
}

func (s *Search) in(text string) []string {
	var found []string
	for i := range len(text) - 1 {
		n := int(text[i])<<8 | int(text[i+1])
		if s.begins[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		for _, needle := range s.by[[2]byte{text[i], text[i+1]}] {
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
