package explain

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"vzones/cmd/vzones/cli"
)

// width is how many columns a tree has where there is no terminal that says it.
const width = 100

// A branch is a line of a tree with what is below it.
type branch struct {
	text  string
	color cli.Color
	below []*branch
}

// add adds a line below, and returns it.
func (b *branch) add(color cli.Color, format string, args ...any) *branch {
	one := &branch{text: fmt.Sprintf(format, args...), color: color}
	b.below = append(b.below, one)
	return one
}

// A canvas is what trees are drawn on.
type canvas struct {
	t       *cli.Tool
	columns int
	out     bytes.Buffer
}

func newCanvas(t *cli.Tool) *canvas {
	c := &canvas{t: t, columns: width}
	if w := t.Width(); w > 40 {
		c.columns = w
	}
	return c
}

// draw draws a tree. Lines that are too long go on below, indented.
func (c *canvas) draw(b *branch) {
	c.line("", "", b)
	c.children("", b)
}

func (c *canvas) children(indent string, b *branch) {
	for i, one := range b.below {
		first, rest := "├─ ", "│  "
		if i == len(b.below)-1 {
			first, rest = "└─ ", "   "
		}
		c.line(indent+first, indent+rest, one)
		c.children(indent+rest, one)
	}
}

// line writes one line, and what does not fit behind rest.
func (c *canvas) line(first, rest string, b *branch) {
	bar := "   "
	if len(b.below) > 0 {
		bar = "│  "
	}
	if rest == "" {
		bar = "  "
	}
	for i, text := range wrap(b.text, c.columns-utf8.RuneCountInString(first), c.columns-utf8.RuneCountInString(rest+bar)) {
		if i == 0 {
			fmt.Fprintf(&c.out, "%s%s\n", first, c.t.Paint(b.color, text))
			continue
		}
		fmt.Fprintf(&c.out, "%s%s%s\n", rest, bar, c.t.Paint(b.color, text))
	}
}

// wrap breaks a text at blanks. A word that is too long stays whole.
func wrap(text string, first, rest int) []string {
	var lines []string
	line, room := "", max(first, 20)
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= room:
			line += " " + word
		default:
			lines = append(lines, line)
			line, room = word, max(rest, 20)
		}
	}
	return append(lines, line)
}
