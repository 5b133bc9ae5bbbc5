package docs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vzones/test/page"
)

// shownBlocks returns the blocks of all pages but those of command lines: what the pages show of
// outputs, and whatever else is fenced. The kind of a block and its heading are those of its lines.
func shownBlocks(t *testing.T) []shown {
	t.Helper()
	var all []shown
	for path, text := range pages(t) {
		for _, b := range page.Blocks(text) {
			if b.Kind != "sh" && b.Kind != "console" {
				all = append(all, shown{filepath.ToSlash(strings.TrimPrefix(path, "../")), b.Heading, b.Kind, b.Text})
			}
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d blocks", len(all))
	}
	return all
}

// TestEveryOutputIsCompared: a test compares each output that a page shows with what is printed, or
// the list says what else the block is. It has no entry without a block, and none with a test that
// is not there or reads another page. The blocks of kind console are those of TestEveryCommandIsRun.
func TestEveryOutputIsCompared(t *testing.T) {
	used := make([]bool, len(outputsCompared))
	for _, b := range shownBlocks(t) {
		found := 0
		for i, p := range outputsCompared {
			if !p.covers(t, b) {
				continue
			}
			found++
			used[i] = true
			if folder, name, ok := strings.Cut(p.by, " "); ok && folder != "not:" && !readsPage(t, filepath.Join("..", folder), name, b.page) {
				t.Errorf("%s, %q: there is no %s that reads the page", b.page, b.heading, p.by)
			}
		}
		if found != 1 {
			t.Errorf("%s, %q: the list has %d entries for the block of kind %s\n%s", b.page, b.heading, found, b.language, b.text)
		}
	}
	for i, p := range outputsCompared {
		if !used[i] {
			t.Errorf("%s has no block %s, which is by %s", p.page, p.part, p.by)
		}
		if reason, not := strings.CutPrefix(p.by, "not: "); not && len(reason) < 8 {
			t.Errorf("%s, %s: no reason is enough: %s", p.page, p.part, reason)
		}
	}
}

// readsPage reports whether a folder has a test, and names in its tests a page, or reads all of them.
func readsPage(t *testing.T, folder, name, page string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return hasTest(t, folder, name) && slices.ContainsFunc(files, func(file string) bool {
		text := read(t, file)
		return strings.Contains(text, filepath.Base(page)+`"`) || strings.Contains(text, `/*.md"`) && strings.Contains(text, "func "+name+"(")
	})
}

// TestExampleOfAMessage: the message that CONTRIBUTING.md shows is one of the resolver's, as the golden
// files have it.
func TestExampleOfAMessage(t *testing.T) {
	const page = "CONTRIBUTING.md"
	golden := read(t, "../topology/testdata/layouts.txtar")
	count := 0
	for _, b := range shownBlocks(t) {
		if b.page == page && b.heading == "Write a message" {
			count++
			if !strings.Contains(golden, "\nerror: "+b.text) {
				t.Errorf("%s shows a message that there is not: %s", page, b.text)
			}
		}
	}
	if count != 1 {
		t.Errorf("%s shows %d messages", page, count)
	}
}

// TestNodeOfTheTutorial: the script of TestPages creates the Node that the tutorial does.
func TestNodeOfTheTutorial(t *testing.T) {
	manifest := between(read(t, "tutorial/first-cluster.md"), "kubectl create -f - <<NODE\n", "NODE\n")
	if script := read(t, "../cmd/vzones/testdata/pages/tutorial.txtar"); manifest == "" || !strings.HasSuffix(script, "-- nobody.yaml --\n"+manifest) {
		t.Errorf("the tutorial creates\n%s\nand the script does not", manifest)
	}
}
