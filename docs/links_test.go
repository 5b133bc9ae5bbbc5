package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"vzones/test/fixture"
)

var (
	file    = regexp.MustCompile("`((?:\\.ci|cmd|config|docs|manifests|provider|test|topology|vcenter)/[a-z0-9_./-]+)`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	command = regexp.MustCompile("(?:^|`)(?:[A-Z_]+=\\S+ )*make ([a-z-]+)")
	target  = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// pages returns the Markdown files of the repository, by path from here.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata"}, d.Name()):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".md"):
			all[path] = read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no pages found")
	}
	return all
}

// prose calls f with each line outside of blocks of code.
func prose(text string, f func(line string)) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
			continue
		}
		if !inside {
			f(line)
		}
	}
}

// anchors returns what can stand behind a # in a link to a page: its headings in
// lower case, hyphens for blanks, without punctuation, and the rows that begin with an id.
func anchors(text string) map[string]bool {
	all := make(map[string]bool)
	prose(text, func(line string) {
		if id, ok := strings.CutPrefix(line, `<a id="`); ok {
			id, _, _ = strings.Cut(id, `"`)
			all[id] = true
			return
		}
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			return
		}
		all[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))] = true
	})
	return all
}

// TestLinksResolve: relative links lead to files and headings that exist, and so do names of files.
func TestLinksResolve(t *testing.T) {
	all, links := pages(t), 0
	for page, text := range all {
		prose(text, func(line string) {
			for _, match := range file.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat("../" + match[1]); err != nil {
					t.Errorf("%s: there is no %s", page, match[1])
				}
			}
			for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
				if scheme.MatchString(match[1]) {
					continue
				}
				links++
				target, anchor, _ := strings.Cut(match[1], "#")
				path := page
				if target != "" {
					path = filepath.Join(filepath.Dir(page), target)
				}
				if _, err := os.Stat(path); err != nil || filepath.IsAbs(target) {
					t.Errorf("%s: %s leads nowhere", page, match[1])
				} else if anchor != "" && !anchors(all[path])[anchor] {
					t.Errorf("%s: %s: no such heading", page, match[1])
				}
			}
		})
	}
	if links == 0 {
		t.Error("no links found")
	}
}

// TestIndexIsComplete: every page below docs is in its index, or in that of the decisions, to which it has a link.
func TestIndexIsComplete(t *testing.T) {
	index := read(t, "README.md") + strings.ReplaceAll(read(t, "decisions/README.md"), "](", "](decisions/")
	for page := range pages(t) {
		if page = filepath.ToSlash(page); !strings.HasPrefix(page, "../docs/") || strings.HasSuffix(page, "/README.md") {
			continue
		}
		if name := strings.TrimPrefix(page, "../docs/"); !strings.Contains(index, "("+name+")") {
			t.Errorf("%s is not in the index", name)
		}
	}
}

// TestMakeTargetsExist: what the pages tell to make can be made.
func TestMakeTargetsExist(t *testing.T) {
	known := make(map[string]bool)
	for _, match := range target.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		known[match[1]] = true
	}
	told := toldTargets(t)
	for name, page := range told {
		if !known[name] {
			t.Errorf("%s: make %s: no such target", page, name)
		}
	}
	if len(told) == 0 {
		t.Error("no page has a make command")
	}
}

// TestMakeHelp: make help lists the targets that the pages tell to make, each in a group.
func TestMakeHelp(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", "..", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	listed := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		name, isTarget := strings.CutPrefix(line, "  make ")
		switch {
		case !isTarget && strings.TrimSpace(line) != "":
			group = line
		case isTarget && group == "":
			t.Errorf("make help lists %q in no group", line)
		case isTarget:
			listed[strings.Fields(name)[0]] = true
		}
	}
	for name, page := range toldTargets(t) {
		isHidden := name == "help" || name == "env" || strings.HasPrefix(name, "check-")
		if !listed[name] && !isHidden {
			t.Errorf("%s: make %s: make help does not list it", page, name)
		}
	}
}

// toldTargets returns the targets in the make commands of the pages, each with a page.
func toldTargets(t *testing.T) map[string]string {
	t.Helper()
	told := make(map[string]string)
	add := func(page, line string) {
		for _, match := range command.FindAllStringSubmatch(line, -1) {
			told[match[1]] = page
		}
	}
	for path, text := range pages(t) {
		for _, b := range fixture.Blocks(text) {
			for line := range strings.Lines(b.Text) {
				add(path, strings.TrimSpace(line))
			}
		}
		prose(text, func(line string) {
			for _, span := range code.FindAllString(line, -1) {
				add(path, span)
			}
		})
	}
	return told
}
