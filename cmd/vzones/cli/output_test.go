package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

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
