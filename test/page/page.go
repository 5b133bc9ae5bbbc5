// Package page reads the fenced blocks of the documentation, for tests that parse or run them.
package page

import (
	"os"
	"path/filepath"
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

// Outputs returns the blocks of kind text below a heading of a page, up to the next heading, in their
// order. The test fails if there is none.
func Outputs(t testing.TB, path, heading string) []string {
	t.Helper()
	all := outputs(Read(t, path), heading)
	if len(all) == 0 {
		t.Fatalf("%s has no block of kind text below %q", path, heading)
	}
	return all
}

func outputs(text, heading string) []string {
	var all []string
	for _, b := range Blocks(text) {
		if b.Heading == heading && b.Kind == "text" {
			all = append(all, b.Text)
		}
	}
	return all
}
