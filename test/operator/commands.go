package operator

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/page"
)

// commands enters the commands of the tool that a page shows: the lines of its shell blocks that begin with
// the tool, and those of its console blocks that do behind a prompt. Findings are no failure.
func commands(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: commands PAGE")
	}
	content, err := os.ReadFile(filepath.Join(of(ts).tool.Root, args[0]))
	ts.Check(err)
	count := 0
	for _, b := range page.Blocks(string(content)) {
		prompt, shown := map[string]string{"sh": "", "console": "$ "}[b.Kind]
		if !shown {
			continue
		}
		for line := range strings.Lines(b.Text) {
			line, entered := strings.CutPrefix(strings.TrimSpace(line), prompt)
			if !entered || !strings.HasPrefix(line, "vzones ") {
				continue
			}
			count++
			if err := ts.Exec("sh", "-c", line+"; test $? -le 1"); err != nil {
				ts.Fatalf("%s: %s: %v\n%s", args[0], line, err, ts.ReadFile("stderr"))
			}
		}
	}
	if count == 0 {
		ts.Fatalf("%s has no command of the tool", args[0])
	}
}
