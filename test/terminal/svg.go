package terminal

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The measures of a picture, in pixels: of a cell, around all of it, and of the bar at the top.
const (
	cellWidth, lineHeight = 8.4, 19
	margin, bar           = 16, 28
)

// palette has the colors of escape sequences. Each has a contrast of at least 4.5 to the background.
var palette = map[int]string{
	31: "#ff7b72", 32: "#7ee787", 33: "#f2cc60", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea", 37: "#e6edf3",
}

const (
	background, foreground, faint, frame = "#0d1117", "#e6edf3", "#9198a1", "#30363d"
	fonts                                = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)

// SVG draws a window with a command line and what it has shown. The picture is the same for the same
// arguments, needs nothing from elsewhere, and has the text as text.
func SVG(commandLine string, s *Screen) []byte {
	columns := utf8.RuneCountInString(commandLine) + 2
	for _, line := range s.lines {
		columns = max(columns, len(line))
	}
	width, height := int(float64(columns)*cellWidth)+2*margin, bar+2*margin+(len(s.lines)+1)*lineHeight-lineHeight/4
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d">
<title id="title">A terminal with the output of %[3]s</title>
<rect x="0.5" y="0.5" width="%[4]d" height="%[5]d" rx="8" fill="%[6]s" stroke="%[7]s"/>
<g fill="%[7]s"><circle cx="18" cy="16" r="5"/><circle cx="36" cy="16" r="5"/><circle cx="54" cy="16" r="5"/></g>
<g font-family="%[8]s" font-size="14" fill="%[9]s" xml:space="preserve">
`, width, height, html.EscapeString(commandLine), width-1, height-1, background, frame, fonts, foreground)
	prompt := []cell{{'$', style{faint: true}}, {' ', style{}}}
	for _, r := range commandLine {
		prompt = append(prompt, cell{r, style{bold: true}})
	}
	for i, line := range append([][]cell{prompt}, s.lines...) {
		y := bar + margin + i*lineHeight + lineHeight/2
		for from := 0; from < len(line); {
			to := from + 1
			for to < len(line) && line[to].style == line[from].style && !gap(line[from:to+1]) {
				to++
			}
			run(&b, line[from:to], from, y)
			from = to
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// gap reports whether cells end in two blanks and a further character, where columns of a table
// begin: each is drawn at its own place, whatever the font.
func gap(cells []cell) bool {
	n := len(cells)
	return n > 2 && cells[n-1].r != ' ' && cells[n-2].r == ' ' && cells[n-3].r == ' '
}

// run draws cells of one style.
func run(b *bytes.Buffer, cells []cell, column, y int) {
	var text strings.Builder
	for _, c := range cells {
		text.WriteRune(c.r)
	}
	shown := strings.TrimRight(text.String(), " ")
	lead := len(shown) - len(strings.TrimLeft(shown, " "))
	if shown = shown[lead:]; shown == "" {
		return
	}
	t := cells[0].style
	attributes := ""
	switch color := palette[(t.color-1)%60+1]; {
	case t.color != 0:
		attributes += fmt.Sprintf(` fill="%s"`, color)
	case t.faint:
		attributes += fmt.Sprintf(` fill="%s"`, faint)
	}
	if t.bold {
		attributes += ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
		margin+float64(column+lead)*cellWidth, y, float64(utf8.RuneCountInString(shown))*cellWidth, attributes, html.EscapeString(shown))
}
