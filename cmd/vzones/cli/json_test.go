package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"vzones/cmd/vzones/cli"
)

// TestJSONIsPrintable: a name cannot change the terminal through JSON, which has the same value.
func TestJSONIsPrintable(t *testing.T) {
	const name = "a\u009b2J\x1b[31m\u202eb\U000e0001 Zürich \u65e5\U0001f600\"\\ 	<&>"
	var out bytes.Buffer
	if err := (&cli.Tool{Stdout: &out}).PrintJSON(map[string]string{"name": name}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("it has %q: %q", out.String()[i:i+4], out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["name"] != name {
		t.Errorf("%q came back as %q, %v", name, back["name"], err)
	}
}
