package parse

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// words are what the reference says of a key.
type words struct {
	meaning string
	// value is the default, if it is one value.
	value any
}

// tables are the headings of the reference under which keys are, and their paths.
var tables = map[string]string{
	"## Top level":                        "",
	"## Keys of `global` and of an entry": pathBoth + ".",
	"## Keys of `global` alone":           pathGlobal + ".",
	"## Keys of an entry alone":           pathEntry + ".",
	"## Keys of `labels`":                 "labels.",
	"## Keys of a rule":                   pathRule + ".",
	"## Keys of `topology`":               "topology.",
	"## Keys of a level":                  pathLevel + ".",
	"## Keys of `nodes`":                  "nodes.",
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// readWords returns what the reference says, by the paths of the keys. What has no effect
// is described by the warning that the daemon logs, and left out.
func readWords(t *testing.T) map[string]words {
	t.Helper()
	data, err := os.ReadFile("../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]words)
	found := make(map[string]bool)
	prefix, inside := "", false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			if prefix, inside = tables[line]; inside {
				found[line] = true
			}
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		key := strings.TrimSpace(cells[0])
		if !inside || len(cells) < 3 || !strings.HasPrefix(key, "`") {
			continue
		}
		key = strings.Trim(key, "`")
		meaning := strings.TrimSpace(link.ReplaceAllString(cells[len(cells)-1], "$1"))
		if strings.HasPrefix(meaning, "No effect") {
			continue
		}
		w := words{meaning: strings.ToUpper(meaning[:1]) + meaning[1:]}
		if !strings.HasSuffix(w.meaning, ".") {
			w.meaning += "."
		}
		if len(cells) == 4 {
			w.value = oneValue(strings.TrimSpace(cells[2]))
		}
		all[prefix+key] = w
	}
	for heading := range tables {
		if !found[heading] {
			t.Errorf("the reference has no heading %q", heading)
		}
	}
	return all
}

// oneValue returns the default that a cell of the reference has, and nil if it is described
// in words.
func oneValue(cell string) any {
	text, ok := strings.CutSuffix(strings.TrimPrefix(cell, "`"), "`")
	if !ok || strings.Contains(text, "`") {
		return nil
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("%s: %v", cell, err))
	}
	return v
}
