package terminal

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestParse: what is written again is shown once, and colors are not text.
func TestParse(t *testing.T) {
	for output, want := range map[string]string{
		"a\r\nb\r\n":                       "a\nb\n",
		"Reading …\r\x1b[Kdone\r\n":        "done\n",
		"abc\rx\n":                         "xbc\n",
		"a\tb\n":                           "a       b\n",
		"\x1b[31mred\x1b[0m \x1b[1;33mé\n": "red é\n",
	} {
		s, err := Parse([]byte(output))
		if err != nil || s.String() != want {
			t.Errorf("%q: %q, %v", output, s, err)
		}
	}
	for _, output := range []string{"\x1b[2J", "\x1b]0;title\a", "\x1b[38;5;1m", "\x1b[", "a\ab", "\u009b2J"} {
		if s, err := Parse([]byte(output)); err == nil {
			t.Errorf("%q: drawn as %q", output, s)
		}
	}
}

// TestSVG: the picture is well-formed, has the text with its colors, and each column at its place.
func TestSVG(t *testing.T) {
	s, err := Parse([]byte("NODE   ZONE\r\n\x1b[31ma<b    z&\x1b[0m\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := SVG("vzones nodes", s)
	for d := xml.NewDecoder(bytes.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
	}
	for _, want := range []string{
		`>NODE</text>`, `fill="#ff7b72">a&lt;b</text>`, `fill="#ff7b72">z&amp;</text>`, `font-weight="bold">vzones nodes</text>`,
		`<text x="74.8" y="72" textLength="33.6" lengthAdjust="spacingAndGlyphs">ZONE</text>`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}

// TestRun: a command has a terminal of the width, and its status is that of the command.
func TestRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("on Linux only")
	}
	out, err := Run(exec.CommandContext(t.Context(), "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; exit 3"), 77)
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok || failed.ExitCode() != 3 || string(out) != "50 77\r\n" {
		t.Errorf("%q, %v", out, err)
	}
}
