package plan

import (
	"fmt"
	"slices"
	"strings"

	"vzones/topology/quote"
)

// A change is all that is planned together.
type change struct {
	with  string
	tags  []attachment
	moves []move
}

// isOne reports whether there is a change at all.
func (c *change) isOne() bool { return c.with != "" || len(c.tags)+len(c.moves) > 0 }

// An attachment gives an object one tag of a category, or takes all off if name is empty.
type attachment struct{ object, category, name string }

// String is how it is written.
func (r attachment) String() string { return r.object + "=" + r.category + ":" + r.name }

// parseTags reads OBJECT=CATEGORY:NAME. The value of a label has neither = nor :, so the last of
// each counts.
func parseTags(texts []string) ([]attachment, error) {
	var all []attachment
	for _, text := range texts {
		r := attachment{}
		at := strings.LastIndex(text, "=")
		colon := strings.LastIndex(text, ":")
		if at <= 0 || colon <= at+1 {
			return nil, fmt.Errorf("--tag %s is not OBJECT=CATEGORY:NAME: write such as /dc1/host/c1=zone:a", quote.Value(text))
		}
		r.object, r.category, r.name = text[:at], text[at+1:colon], text[colon+1:]
		if slices.ContainsFunc(all, func(o attachment) bool { return o.object == r.object && o.category == r.category }) {
			return nil, fmt.Errorf("--tag: object %s gets a tag of category %s twice: write one", quote.Value(r.object), quote.Value(r.category))
		}
		all = append(all, r)
	}
	return all, nil
}

// A move has a machine run on another host.
type move struct{ vm, host string }

// parseMoves reads VM=HOST.
func parseMoves(texts []string) ([]move, error) {
	var all []move
	for _, text := range texts {
		at := strings.LastIndex(text, "=")
		if at <= 0 || at == len(text)-1 {
			return nil, fmt.Errorf("--move %s is not VM=HOST: write such as node-1=host-2.example.com", quote.Value(text))
		}
		m := move{text[:at], text[at+1:]}
		if slices.ContainsFunc(all, func(o move) bool { return o.vm == m.vm }) {
			return nil, fmt.Errorf("--move: machine %s is moved twice: write one host", quote.Value(m.vm))
		}
		all = append(all, m)
	}
	return all, nil
}
