package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/test/page"
)

// A shown is a command line that a page shows.
type shown struct{ page, heading, language, text string }

var (
	// aComment begins a line of a shell, or ends it.
	aComment = regexp.MustCompile(`(^|\s)#.*$`)
	// ofTheTool finds command lines in blocks that are not of a shell.
	ofTheTool = regexp.MustCompile(`^(vzones|kubectl vzones) [a-z]`)
	hereText  = regexp.MustCompile(`<<'?([A-Z]+)'?$`)
)

// commandLines returns the command lines in the blocks of all pages: those of shells, those behind $,
// and those of the tool in any block. A line that goes on in the next one, or has a text behind it,
// is one line.
func commandLines(t *testing.T) []shown {
	t.Helper()
	var all []shown
	for path, text := range pages(t) {
		for _, b := range page.Blocks(text) {
			all = append(all, commandsOf(filepath.ToSlash(strings.TrimPrefix(path, "../")), &b)...)
		}
	}
	if len(all) < 200 {
		t.Fatalf("only %d command lines", len(all))
	}
	return all
}

// commandsOf returns the command lines of a block.
func commandsOf(path string, b *page.Block) []shown {
	var all []shown
	until, goesOn := "", false
	for line := range strings.Lines(b.Text) {
		line = strings.TrimSpace(line)
		switch {
		case until != "":
			if line == until {
				until = ""
			}
		case goesOn:
			last := &all[len(all)-1].text
			goesOn = strings.HasSuffix(line, `\`)
			*last += " " + strings.TrimSuffix(line, `\`)
		default:
			entered := commandIn(b.Kind, line)
			if entered == "" {
				continue
			}
			if m := hereText.FindStringSubmatch(entered); m != nil {
				until = m[1]
			}
			goesOn = strings.HasSuffix(entered, `\`)
			all = append(all, shown{path, b.Heading, b.Kind, strings.TrimSuffix(entered, `\`)})
		}
	}
	return all
}

// commandIn returns the command that begins in a line of a block of a kind, empty if none does.
func commandIn(kind, line string) string {
	switch kind {
	case "sh":
		return strings.TrimSpace(aComment.ReplaceAllString(line, ""))
	case "console":
		if entered, ok := strings.CutPrefix(line, "$ "); ok {
			return entered
		}
		return ""
	}
	if ofTheTool.MatchString(line) {
		return line
	}
	return ""
}

// A played says which test runs command lines.
type played struct {
	// page is a pattern for the whole path of a page, part one for a part of lines. Behind the kind of
	// a block, a heading and a newline it is for lines there only.
	page, part string
	// by is the folder and the name of a test, or why no test runs the line: "not: …".
	by string
}

// TestEveryCommandIsRun: a test runs each command line of the documentation, or the list says why
// none does. It has no entry without a line, and none with a test that is not there.
func TestEveryCommandIsRun(t *testing.T) {
	table := append(consoleBlocks(t), commandsPlayed...)
	used := make([]bool, len(table))
	for _, line := range commandLines(t) {
		found := false
		for i, p := range table {
			if p.covers(t, line) {
				used[i], found = true, true
			}
		}
		if !found {
			t.Errorf("%s, %q: no test runs %s", line.page, line.heading, line.text)
		}
	}
	for i, p := range table {
		if !used[i] {
			t.Errorf("%s has no command %s, which is by %s", p.page, p.part, p.by)
		}
		if reason, not := strings.CutPrefix(p.by, "not: "); not {
			if len(reason) < 10 || strings.Contains(p.part, "vzones") {
				t.Errorf("%s, %s: no reason is enough: %s", p.page, p.part, reason)
			}
			continue
		}
		folder, name, _ := strings.Cut(p.by, " ")
		if !hasTest(t, filepath.Join("..", folder), name) {
			t.Errorf("%s, %s: there is no %s", p.page, p.part, p.by)
		}
	}
}

func (p *played) covers(t *testing.T, line shown) bool {
	t.Helper()
	heading, part, below := strings.Cut(p.part, "\n")
	if below && heading != line.language+" "+line.heading {
		return false
	}
	if !below {
		part = p.part
	}
	return regexp.MustCompile("^(?:"+p.page+")$").MatchString(line.page) && regexp.MustCompile(part).MatchString(line.text)
}

// hasTest reports whether a folder has a test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), "func "+name+"(t *testing.T)") })
}

var consoleLine = regexp.MustCompile(`(?m)^console (\S+) ('[^']+'|\S+)$`)

// consoleBlocks are the blocks of kind console that scripts of the tool run, and the shell's lines of
// pages that they enter.
func consoleBlocks(t *testing.T) []played {
	t.Helper()
	scripts, err := filepath.Glob("../cmd/vzones/testdata/pages/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	var all []played
	linesOf := regexp.MustCompile(`(?m)^commands (\S+)$`)
	for _, script := range scripts {
		for _, m := range consoleLine.FindAllStringSubmatch(read(t, script), -1) {
			all = append(all, played{m[1], "console " + strings.Trim(m[2], "'") + "\n", "cmd/vzones TestPages"})
		}
		for _, m := range linesOf.FindAllStringSubmatch(read(t, script), -1) {
			all = append(all, played{m[1], "^vzones ", "cmd/vzones TestPages"})
		}
	}
	return all
}

var (
	testOfGo  = regexp.MustCompile(`-(?:run|fuzz) '?\^?([A-Z][\w|]*)`)
	pathsOfGo = regexp.MustCompile(` \./(\S+)`)
)

// TestGoTestsOfPages: the tests and packages that the pages name for go test are there.
func TestGoTestsOfPages(t *testing.T) {
	count := 0
	for _, line := range commandLines(t) {
		if !strings.Contains(line.text, "go test ") {
			continue
		}
		count++
		for _, m := range pathsOfGo.FindAllStringSubmatch(line.text, -1) {
			folder := filepath.Join("..", strings.TrimSuffix(m[1], "/..."))
			if _, err := os.Stat(folder); err != nil {
				t.Errorf("%s: %s: %v", line.page, line.text, err)
				continue
			}
			names := testOfGo.FindStringSubmatch(line.text)
			if names == nil {
				continue
			}
			for name := range strings.SplitSeq(names[1], "|") {
				if !hasTestLike(t, folder, name) {
					t.Errorf("%s: %s: there is no test %s", line.page, line.text, name)
				}
			}
		}
	}
	if count < 10 {
		t.Errorf("only %d lines with go test", count)
	}
}

func hasTestLike(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`func (Test|Fuzz)?\w*` + name)
	return slices.ContainsFunc(files, func(file string) bool { return pattern.MatchString(read(t, file)) })
}
