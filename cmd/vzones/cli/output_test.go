package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// TestTableFits: a table's lines fit, unless it has so many columns that one character of each is too much.
func TestTableFits(t *testing.T) {
	for n := 1; n < 60; n++ {
		row := slices.Repeat([]string{strings.Repeat("é", 200)}, n)
		var out bytes.Buffer
		err := (&Tool{Stdout: &out}).Print(Table, &List{Columns: row})
		if got := utf8.RuneCountInString(out.String()) - 1; err != nil || got > max(160, n+3*(n-1)) {
			t.Errorf("%d columns: %v, a line has %d characters", n, err, got)
		}
	}
}

// TestDataCannotChangeTheTerminal: control characters in a name stay what they are for a program, and are
// none for a terminal.
func TestDataCannotChangeTheTerminal(t *testing.T) {
	name := "é😀\u009b2J \x1b[2J \x7f \u202e \u0085"
	for format, read := range map[Format]func([]byte, any) error{
		JSON: json.Unmarshal, YAML: func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
	} {
		var out bytes.Buffer
		if err := (&Tool{Stdout: &out}).Print(format, &List{Data: map[string]string{"name": name}}); err != nil {
			t.Fatal(err)
		}
		if at := strings.IndexFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }); at >= 0 {
			t.Errorf("%s: %q", format, out.String())
		}
		if format == JSON && strings.ContainsAny(out.String(), "\u202e") {
			t.Errorf("%s: %q", format, out.String())
		}
		var got map[string]string
		if err := read(out.Bytes(), &got); err != nil || got["name"] != name {
			t.Errorf("%s: %q, %v", format, got, err)
		}
		if !strings.Contains(out.String(), "é") {
			t.Errorf("%s: %q", format, out.String())
		}
	}
}
