package scenarios

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vzones/test/page"
)

var update = flag.Bool("update", false, "write the tables of commands and conditions into the how-to, and the examples of Events into their reference")

var howTo = filepath.Join("..", "..", "docs", "how-to", "write-a-scenario.md")

// TestReference: the how-to's tables are those that scripts are read with.
func TestReference(t *testing.T) {
	data, err := os.ReadFile(howTo)
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	want := between(t, got, "commands", func(b *strings.Builder) {
		b.WriteString("| command | does |\n|---|---|\n")
		for _, c := range commands() {
			row(b, c.usage, c.does)
		}
		row(b, repeatUsage, "plays the lines up to a line with `}` N times")
	})
	want = between(t, want, "conditions", func(b *strings.Builder) {
		b.WriteString("| condition | holds if |\n|---|---|\n")
		for _, k := range conditions() {
			row(b, k.usage, k.does)
		}
	})
	if *update {
		if err := os.WriteFile(howTo, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s is not current; go test ./test/scenarios -run TestReference -update writes it (-want +got):\n%s", howTo, d)
	}
}

// between replaces what is between the marks of a table.
func between(t *testing.T, text, name string, table func(*strings.Builder)) string {
	t.Helper()
	begin, end := "<!-- "+name+": written by TestReference -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %s … %s", howTo, begin, end)
	}
	var b strings.Builder
	table(&b)
	return before + begin + b.String() + end + after
}

func row(b *strings.Builder, usage, does string) {
	fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(usage, "|", `\|`), does)
}

// TestTheExampleOfTheHowToIsWellFormed, as are all scenarios.
func TestTheExampleOfTheHowToIsWellFormed(t *testing.T) {
	example := page.Outputs(t, "docs/how-to/write-a-scenario.md", "Read one")[0]
	if _, err := loaded(t, example); err != nil {
		t.Error(err)
	}
}
