package load

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/configtest"
)

// TestParseNodeLabels: behind each line of the golden file with the values of flags, each in braces, are
// the labels, warnings and mistakes that they give.
func TestParseNodeLabels(t *testing.T) {
	const golden = "testdata/node-labels.txt"
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		flags := strings.Split(strings.TrimSuffix(line[1:], "}\n"), "} {")
		labels, warnings, err := config.ParseNodeLabels(flags...)
		fmt.Fprintf(&b, "%s%q\n", line, labels)
		for _, w := range warnings {
			fmt.Fprintf(&b, "warning %s\n", w)
		}
		if err != nil {
			fmt.Fprintf(&b, "error %s\n", strings.ReplaceAll(err.Error(), "\n", "\nerror "))
		}
		if (labels == nil) != (len(labels) == 0) || err != nil && labels != nil {
			t.Errorf("%q: got %#v, %v", flags, labels, err)
		}
	}
	configtest.GoldenFile(t, golden, b.String())
}
