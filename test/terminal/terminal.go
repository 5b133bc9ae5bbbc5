// Package terminal runs a command in a terminal, and draws what it has shown there as an SVG: the
// pictures of the documentation are made with it. It understands what the operator's tool writes,
// text with colors and a line that is written again, and no more of a terminal's language.
package terminal

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A style is how a cell looks; the zero value is plain text.
type style struct {
	color       int // 31 to 37 and 91 to 97, as in the escape sequence; 0 for the default
	bold, faint bool
}

// A cell is one character.
type cell struct {
	r     rune
	style style
}

// A Screen is what a terminal shows, line by line. It is as high as it has to be.
type Screen struct {
	lines [][]cell
	// at is the cursor, in cells from the start of the last line.
	at    int
	style style
}

const tab = 8

// Parse returns what a terminal shows of an output. An escape sequence or a control character that it
// does not know is an error, since the picture would be wrong.
func Parse(output []byte) (*Screen, error) {
	s := &Screen{lines: [][]cell{nil}}
	for len(output) > 0 {
		if output[0] == '\x1b' {
			n, err := s.escape(output)
			if err != nil {
				return nil, err
			}
			output = output[n:]
			continue
		}
		r, n := utf8.DecodeRune(output)
		output = output[n:]
		switch r {
		case '\n':
			s.lines, s.at = append(s.lines, nil), 0
		case '\r':
			s.at = 0
		case '\t':
			for s.put(' '); s.at%tab != 0; {
				s.put(' ')
			}
		default:
			if !unicode.IsPrint(r) {
				return nil, fmt.Errorf("the output has a character that is not drawn: %q", r)
			}
			s.put(r)
		}
	}
	for len(s.lines) > 1 && len(s.lines[len(s.lines)-1]) == 0 {
		s.lines = s.lines[:len(s.lines)-1]
	}
	return s, nil
}

func (s *Screen) put(r rune) {
	line := &s.lines[len(s.lines)-1]
	for len(*line) <= s.at {
		*line = append(*line, cell{r: ' '})
	}
	(*line)[s.at] = cell{r, s.style}
	s.at++
}

// escape carries out the escape sequence that an output begins with, and returns its length.
func (s *Screen) escape(output []byte) (int, error) {
	end := bytes.IndexFunc(output, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
	if end < 2 || output[1] != '[' {
		return 0, fmt.Errorf("the output has an escape sequence that is not drawn: %.10q", output)
	}
	args := string(output[2:end])
	switch output[end] {
	case 'K':
		line := &s.lines[len(s.lines)-1]
		*line = (*line)[:min(s.at, len(*line))]
		return end + 1, nil
	case 'm':
		for arg := range strings.SplitSeq(args, ";") {
			if err := s.style.set(arg); err != nil {
				return 0, err
			}
		}
		return end + 1, nil
	}
	return 0, fmt.Errorf("the output has an escape sequence that is not drawn: %q", output[:end+1])
}

// set changes a style as one number of the escape sequence for colors says.
func (t *style) set(arg string) error {
	if arg == "" {
		arg = "0"
	}
	n, err := strconv.Atoi(arg)
	switch {
	case err != nil:
		return fmt.Errorf("the output has a color that is not drawn: %q", arg)
	case n == 0:
		*t = style{}
	case n == 1:
		t.bold = true
	case n == 2:
		t.faint = true
	case n == 22:
		t.bold, t.faint = false, false
	case n == 39:
		t.color = 0
	case n >= 31 && n <= 37 || n >= 91 && n <= 97:
		t.color = n
	default:
		return fmt.Errorf("the output has a color that is not drawn: %q", arg)
	}
	return nil
}

// String returns the text without colors.
func (s *Screen) String() string {
	var b strings.Builder
	for _, line := range s.lines {
		for _, c := range line {
			b.WriteRune(c.r)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
