package app

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var updateFlags = flag.Bool("update-flags", false, "write the reference of all flags")

// TestAllFlagsAreDocumented: the reference of all flags has each flag that the daemon takes,
// the framework's too, as it explains itself. With -update-flags it is written.
func TestAllFlagsAreDocumented(t *testing.T) {
	const path = "../../../docs/reference/all-flags.md"
	const head = "<!-- The table is written by go test ./cmd/vsphere-cloud-controller-manager/app -run TestAllFlags -update-flags. -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("%s does not have the line %q", path, head)
	}
	d := New(nil, Options{})
	cmd := d.newCommand(t.Context(), newOptions(t))
	var b strings.Builder
	b.WriteString(before + head + "\n| flag | default | meaning |\n|---|---|---|\n")
	count := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		count++
		fmt.Fprintf(&b, "| %s | %s | %s |\n", inTable("--"+f.Name, true), inTable(f.DefValue, true), inTable(usage(f), false))
	})
	if count < 60 {
		t.Fatalf("only %d flags", count)
	}
	if *updateFlags {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != string(text) {
		t.Errorf("%s is not current: run go test ./cmd/vsphere-cloud-controller-manager/app -run TestAllFlags -update-flags", path)
	}
}

// usage returns how a flag explains itself, in one line. Of a long list, such as that of
// all feature gates, it is the beginning.
func usage(f *pflag.Flag) string {
	const most = 400
	text := strings.Join(strings.Fields(f.Usage), " ")
	if len(text) > most {
		cut := strings.LastIndexByte(text[:most], ' ')
		text = text[:cut] + " … (see --help)"
	}
	return text
}

// inTable returns a text for a cell, in which nothing is Markdown or HTML.
func inTable(text string, code bool) string {
	switch {
	case text == "":
		return ""
	case code:
		return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
	}
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`).Replace(text)
}
