package scenarios

import (
	"fmt"
	"io"
	"testing"

	"vzones/test/page"
)

// printCommands prints what scripts may have.
func printCommands(w io.Writer) {
	fmt.Fprintf(w, "commands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s\n      %s\n", c.usage, c.does)
	}
	fmt.Fprintf(w, "  %s\n      plays the lines up to a line with } N times\n\nconditions:\n", repeatUsage)
	for _, k := range conditions() {
		fmt.Fprintf(w, "  %s\n      %s\n", k.usage, k.does)
	}
}

// TestTheExampleOfTheHowToIsWellFormed, as are all scenarios.
func TestTheExampleOfTheHowToIsWellFormed(t *testing.T) {
	example := page.Outputs(t, "docs/how-to/write-a-scenario.md", "Read one")[0]
	if _, err := loaded(t, example); err != nil {
		t.Error(err)
	}
}
