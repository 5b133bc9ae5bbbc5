package scenarios

import (
	"fmt"
	"io"
)

// printCommands prints the commands and conditions of scripts.
func printCommands(w io.Writer) {
	fmt.Fprintf(w, "commands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s\n      %s\n", c.usage, c.summary)
	}
	fmt.Fprintf(w, "  %s\n      runs the lines up to the closing } N times\n\nconditions:\n", repeatUsage)
	for _, k := range conditions() {
		fmt.Fprintf(w, "  %s\n      %s\n", k.usage, k.summary)
	}
}
