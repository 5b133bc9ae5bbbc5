package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// A table with very many columns may be wider, because each keeps one character.
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

// JSON and YAML preserve control characters for programs, but escape them for the terminal.
func TestDataCannotChangeTheTerminal(t *testing.T) {
	name := "é😀\u009b2J \x1b[2J \x7f \u202e \u0085 \u2066 \u200b \ufeff \U000e0041 \" \\ \n"
	for format, read := range map[Format]func([]byte, any) error{
		JSON: json.Unmarshal, YAML: func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
	} {
		var out bytes.Buffer
		if err := (&Tool{Stdout: &out}).Print(format, &List{Data: map[string]string{"name": name}}); err != nil {
			t.Fatal(err)
		}
		if at := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); at >= 0 {
			t.Errorf("%s: %q is printed in %q", format, []rune(out.String()[at:])[0], out.String())
		}
		var got map[string]string
		if err := read(out.Bytes(), &got); err != nil || got["name"] != name {
			t.Errorf("%s: got the name %q and the error %v, want the name %q", format, got["name"], err, name)
		}
		if !strings.Contains(out.String(), "é") {
			t.Errorf("%s: got %q, want the letter é as it is", format, out.String())
		}
	}
}

// Every character survives YAML and JSON, and none reaches the terminal unprintable. For a JSONPath
// template only the second is true.
func TestEachCharacter(t *testing.T) {
	for first := rune(1); first < utf8.MaxRune; first += 1 << 12 {
		if first > 0x20000 && first != 0xe0001 { // Skips CJK, private and unassigned characters.
			continue
		}
		var names []string
		for r := first; r < first+1<<12; r++ {
			if utf8.ValidRune(r) {
				names = append(names, "a"+string(r)+"b")
			}
		}
		data := map[string][]string{"names": names}
		for _, format := range []Format{JSON, YAML, jsonPath + "{.names[*]}"} {
			var out bytes.Buffer
			if err := (&Tool{Stdout: &out}).Print(format, &List{Data: data}); err != nil {
				t.Fatal(err)
			}
			for _, r := range out.String() {
				if r != '\n' && r != '\t' && !strconv.IsPrint(r) {
					t.Fatalf("%s: %U is printed", format, r)
				}
			}
			var got map[string][]string
			if format == JSON || format == YAML {
				read := json.Unmarshal
				if format == YAML {
					read = func(data []byte, into any) error { return yaml.Unmarshal(data, into) }
				}
				if err := read(out.Bytes(), &got); err != nil || !slices.Equal(got["names"], names) {
					t.Fatalf("%s: from %U on they are not read as they were: %v", format, first, err)
				}
			}
		}
	}
}
