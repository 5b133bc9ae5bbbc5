package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestWords: pages have no word for which the project has another. The list is that of test/structure,
// which looks for them in the code. Decisions are records: they keep the words of their day.
func TestWords(t *testing.T) {
	patterns, instead := []*regexp.Regexp{}, []string{}
	for line := range strings.Lines(read(t, "../test/structure/words.txt")) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 || strings.HasPrefix(line, "#") || f[0] == "name" || f[0] == "except" {
			continue
		}
		patterns = append(patterns, regexp.MustCompile(`(?i)\b`+strings.ReplaceAll(regexp.QuoteMeta(f[1]), " ", `\s+`)+`\b`))
		instead = append(instead, f[2])
	}
	if len(patterns) < 20 {
		t.Fatalf("only %d words", len(patterns))
	}
	for page, text := range pages(t) {
		if strings.Contains(page, "/decisions/") {
			continue
		}
		for i, p := range patterns {
			for _, at := range p.FindAllStringIndex(text, -1) {
				t.Errorf("%s:%d: %q: write %q", page, 1+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], instead[i])
			}
		}
	}
}
