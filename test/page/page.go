// Package page reads the fenced blocks of the documentation, for tests that parse or run them.
package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Read returns the text of a page. Its path is that in the repository, which the test runs in.
func Read(t testing.TB, path string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "docs", "README.md")); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			t.Fatal("the test does not run in the repository")
		}
		root = filepath.Dir(root)
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A Block is a fenced block of a page: Kind follows the opening fence, Text has the lines between the fences.
type Block struct{ Kind, Text string }

// Blocks returns the fenced blocks of the text of a page, in their order. One that is not closed ends
// with the page.
func Blocks(text string) []Block {
	var all []Block
	inside := false
	for line := range strings.Lines(text) {
		kind, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && inside:
			inside = false
		case isFence:
			all = append(all, Block{Kind: strings.TrimSpace(kind)})
			inside = true
		case inside:
			all[len(all)-1].Text += line
		}
	}
	return all
}
