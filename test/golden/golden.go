// Package golden reads txtar archives with the golden cases of a topic, several in a file, and compares
// golden files. It never says what a case means.
package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// begin is how the name of a section begins that begins a case. The section says what the case shows.
const begin = "case "

// A Case is what stands between two such sections.
type Case struct {
	Name     string
	Sections []txtar.File
}

// Each runs test with the cases of the archives whose paths match a pattern. There have to be
// as many as the caller says, each with a name of its own. With update the archives are
// written with what test leaves in the sections.
func Each(t *testing.T, pattern string, cases int, update bool, test func(t *testing.T, c Case)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range split(t, file, archive) {
			if seen[c.Name] {
				t.Fatalf("%s: a second case %q", file, c.Name)
			}
			seen[c.Name] = true
			t.Run(c.Name, func(t *testing.T) { test(t, c) })
		}
		if update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) < cases {
		t.Fatalf("%d cases in %s, want at least %d", len(seen), pattern, cases)
	}
}

// File compares a text with a golden file, or with update writes the file.
func File(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not current, and -update writes it (-want +got):\n%s", path, diff)
	}
}

// split returns the cases of an archive, which share its sections.
func split(t *testing.T, file string, archive *txtar.Archive) []Case {
	t.Helper()
	var all []Case
	first := 0
	for i, f := range archive.Files {
		name, begins := strings.CutPrefix(f.Name, begin)
		switch {
		case begins:
			first = i + 1
			all = append(all, Case{Name: name})
		case all == nil:
			t.Fatalf("%s begins with section %q, which is in no case", file, f.Name)
		default:
			all[len(all)-1].Sections = archive.Files[first : i+1]
		}
	}
	return all
}
