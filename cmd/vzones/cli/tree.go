package cli

import (
	"bytes"
	"fmt"
)

const defaultWidth = 100

// Branch is a line of a tree with its children.
type Branch struct {
	Text  string    `json:"text"`
	Color Color     `json:"-"`
	Below []*Branch `json:"children,omitempty"`
}

// Add appends a child and returns it.
func (b *Branch) Add(color Color, format string, args ...any) *Branch {
	child := &Branch{Text: fmt.Sprintf(format, args...), Color: color}
	b.Below = append(b.Below, child)
	return child
}

// PrintTrees prints trees separated by empty lines, and skips nil trees. Lines that are too long for
// the terminal are wrapped.
func (t *Tool) PrintTrees(trees ...*Branch) error {
	c := &canvas{t: t, columns: defaultWidth}
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

type canvas struct {
	t       *Tool
	columns int
	out     bytes.Buffer
}

func (c *canvas) children(indent string, b *Branch) {
	for i, child := range b.Below {
		first := "├─ "
		rest := "│  "
		if i == len(b.Below)-1 {
			first = "└─ "
			rest = "   "
		}
		c.line(indent+first, indent+rest, child)
		c.children(indent+rest, child)
	}
}

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
