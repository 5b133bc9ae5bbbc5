package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"vzones/cmd/vzones/check"
)

var update = flag.Bool("update", false, "write the table of findings")

// TestFindingsAreCurrent: the reference has the table of findings. With -update it is written.
func TestFindingsAreCurrent(t *testing.T) {
	const page, begin = "reference/findings.md", "<!-- written by go test ./docs -run TestFindingsAreCurrent -update -->\n"
	var b strings.Builder
	b.WriteString("\nID|Severity|Problem|Fix\n-|-|-|-\n")
	for _, k := range check.Kinds() {
		fmt.Fprintf(&b, "<a id=\"%s\"></a>%s|%s|%s|%s\n", strings.ToLower(k.ID), k.ID, k.Severity, k.Title, k.Fix)
	}
	text := read(t, page)
	before, _, ok := strings.Cut(text, begin)
	if !ok {
		t.Fatalf("%s has no place for the kinds", page)
	}
	want := before + begin + b.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Errorf("%s is not current: run go test ./docs -run TestFindingsAreCurrent -update", page)
	}
}
