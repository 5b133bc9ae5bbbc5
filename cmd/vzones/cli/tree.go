package cli

import (
	"bytes"
	"fmt"
)

// width is how many columns a tree has where there is no terminal that says it.
const width = 100

// A Branch is a line of a tree with what is below it.
type Branch struct {
	Text  string    `json:"text"`
	Color Color     `json:"-"`
	Below []*Branch `json:"under,omitempty"`
}

// Add adds a line below, and returns it.
func (b *Branch) Add(color Color, format string, args ...any) *Branch {
	one := &Branch{Text: fmt.Sprintf(format, args...), Color: color}
	b.Below = append(b.Below, one)
	return one
}

// PrintTrees prints trees with an empty line between two. Lines that are too long for the terminal go on
// below, indented. A tree that is nil is left out.
func (t *Tool) PrintTrees(trees ...*Branch) error {
	c := &canvas{t: t, columns: width}
	if w := t.Width(); w > 40 {
		c.columns = w
	}
	for _, b := range trees {
		if b == nil {
			continue
		}
		if c.out.Len() > 0 {
			c.out.WriteByte('\n')
		}
		c.line("", "", b)
		c.children("", b)
	}
	return t.Write(c.out.Bytes())
}

// A canvas is where trees are drawn.
type canvas struct {
	t       *Tool
	columns int
	out     bytes.Buffer
}

func (c *canvas) children(indent string, b *Branch) {
	for i, one := range b.Below {
		first := "├─ "
		rest := "│  "
		if i == len(b.Below)-1 {
			first = "└─ "
			rest = "   "
		}
		c.line(indent+first, indent+rest, one)
		c.children(indent+rest, one)
	}
}

// line writes one line, and what does not fit behind rest.
func (c *canvas) line(first, rest string, b *Branch) {
	bar := "   "
	if len(b.Below) > 0 {
		bar = "│  "
	}
	if rest == "" {
		bar = "  "
	}
	c.t.Wrap(&c.out, c.columns, first, rest+bar, b.Color, b.Text)
}
