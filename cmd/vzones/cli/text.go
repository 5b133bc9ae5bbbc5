package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Count returns a number with its noun in singular or plural, such as "1 Node" or "3,000 Nodes".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Number(n) + " " + noun
}

// Number returns a number with commas between groups of three digits.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Wrap writes a text in a color, wrapped at spaces to lines of width columns; 0 disables wrapping. The
// first line begins with first, the lines after it with rest. A word that is too long stays whole.
func (t *Tool) Wrap(to io.Writer, width int, first, rest string, color Color, text string) {
	line := ""
	begun := false
	for word := range strings.SplitSeq(text, " ") {
		room := max(width-utf8.RuneCountInString(first), 20)
		if begun && width > 0 && utf8.RuneCountInString(line+" "+word) > room {
			fmt.Fprintln(to, first+t.Paint(color, strings.TrimRight(line, " ")))
			first = rest
			line = ""
			begun = false
		}
		if begun {
			line += " "
		}
		line += word
		begun = true
	}
	fmt.Fprintln(to, first+t.Paint(color, line))
}

// Shell returns a command line for a POSIX shell. It returns "" if a word contains characters that
// cannot be printed, or if the last word, which names an object, would be parsed as a flag.
func Shell(words ...string) string {
	if strings.HasPrefix(words[len(words)-1], "-") {
		return ""
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strconv.IsPrint(r) }) {
			return ""
		}
		quoted[i] = w
		if strings.ContainsFunc(w, needsQuotes) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func needsQuotes(r rune) bool {
	isWord := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !isWord && !strings.ContainsRune("-_./:=@,+", r)
}

// Color is an ANSI escape sequence for a color of the terminal's own palette.
type Color string

// The colors, which repeat information in the text.
const (
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
	Blue   Color = "\x1b[34m"
	Faint  Color = "\x1b[2m"
	Bold   Color = "\x1b[1m"
)

// Colored reports whether standard output is a terminal and neither NO_COLOR nor TERM disables colors.
func (t *Tool) Colored() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(t.Stdout)
}

// Paint returns a text in a color, unless that is "" or standard output is not colored.
func (t *Tool) Paint(c Color, text string) string {
	if c == "" || text == "" || !t.Colored() {
		return text
	}
	return string(c) + text + "\x1b[0m"
}
