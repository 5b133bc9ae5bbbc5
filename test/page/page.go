// Package page reads what the documentation shows, for tests that compare it with what is printed.
package page

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ellipsis stands for any lines if it is one, and within a line for any text.
const ellipsis = "…"

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

// A Difference is what differs from run to run, and what stands for it in the comparison.
type Difference struct {
	Pattern *regexp.Regexp
	Instead string
}

// Shows fails the test unless a text is one that a page shows. The differences are taken out of both.
func Shows(t testing.TB, path, shown, printed string, differences ...Difference) {
	t.Helper()
	want, got := lines(shown, differences), lines(printed, differences)
	if !matches(want, got) {
		t.Errorf("%s shows\n%s\nand this was printed:\n%s", path, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// Excerpt fails the test unless the page shows a part of a text.
func Excerpt(t testing.TB, path, shown, printed string, differences ...Difference) {
	t.Helper()
	Shows(t, path, ellipsis+"\n"+shown+ellipsis, printed, differences...)
}

// lines returns the lines of a text, without the differences and without blanks at their ends.
func lines(text string, differences []Difference) []string {
	for _, d := range differences {
		text = d.Pattern.ReplaceAllString(text, d.Instead)
	}
	all := strings.Split(strings.Trim(text, "\n"), "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return all
}

// matches reports whether lines are those that a page shows.
func matches(shown, printed []string) bool {
	for len(shown) > 0 && shown[0] != ellipsis {
		if len(printed) == 0 || !same(shown[0], printed[0]) {
			return false
		}
		shown, printed = shown[1:], printed[1:]
	}
	if len(shown) == 0 {
		return len(printed) == 0
	}
	for i := range len(printed) + 1 {
		if matches(shown[1:], printed[i:]) {
			return true
		}
	}
	return false
}

// same reports whether a line is the one that a page shows.
func same(shown, printed string) bool {
	parts := strings.Split(shown, ellipsis)
	if len(parts) == 1 {
		return shown == printed
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(printed) < len(first)+len(last) || !strings.HasPrefix(printed, first) || !strings.HasSuffix(printed, last) {
		return false
	}
	within := printed[len(first) : len(printed)-len(last)]
	return !slices.ContainsFunc(parts[1:len(parts)-1], func(part string) bool {
		_, after, found := strings.Cut(within, part)
		within = after
		return !found
	})
}
