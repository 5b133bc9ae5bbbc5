package cli

import "os"

// A Color is one of a terminal's own, so that it fits its background.
type Color string

// The colors. What they say is always in the text too.
const (
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
	Blue   Color = "\x1b[34m"
	Faint  Color = "\x1b[2m"
	Bold   Color = "\x1b[1m"
)

// Colored reports whether standard output gets colors: it is a terminal, and NO_COLOR is not set.
func (t *Tool) Colored() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(t.Stdout)
}

// Paint returns a text in a color, if standard output gets any.
func (t *Tool) Paint(c Color, text string) string {
	if text == "" || !t.Colored() {
		return text
	}
	return string(c) + text + "\x1b[0m"
}
