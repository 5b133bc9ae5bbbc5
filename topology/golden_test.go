package topology

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what Resolve says into the golden files")

// TestGolden resolves the layouts in testdata. A file is a txtar archive:
//
//	-- rules --      label=category, one a line, "optional" behind it if so
//	-- compute --    objects from the nearest to the root, one a line:
//	-- pool --       Type /path category=tag category=tag …
//	-- folder --     "unreadable: why" for tags that cannot be read,
//	                 "broken: why" as the last line of a path
//	-- want --       the placement or the error
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 15 {
		t.Fatalf("only %d golden files found", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rules Rules
	var paths []Path
	var want *txtar.File
	for i, f := range ar.Files {
		switch f.Name {
		case "rules":
			rules = parseRules(t, string(f.Data))
		case "compute":
			paths = append(paths, parsePath(t, ComputePath, string(f.Data)))
		case "pool":
			paths = append(paths, parsePath(t, PoolPath, string(f.Data)))
		case "folder":
			paths = append(paths, parsePath(t, FolderPath, string(f.Data)))
		case "want":
			want = &ar.Files[i]
		default:
			t.Fatalf("unknown section %q", f.Name)
		}
	}
	if want == nil {
		t.Fatal("no section \"want\"")
	}
	got := rendered(Resolve(rules, paths))
	if *update {
		want.Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(want.Data), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

func rendered(p Placement, err error) string {
	if err != nil {
		for _, outcome := range []error{ErrAbsent, ErrUnknown, ErrAmbiguous, ErrMissing, ErrInvalid} {
			if errors.Is(err, outcome) {
				return "error: " + err.Error() + "\n"
			}
		}
		return "error that is none of the outcomes: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "path: %s\n", p.Path)
	for _, d := range p.Decisions {
		fmt.Fprintf(&b, "%s: %s (%s on %s)\n", d.Label, d.Value, d.Category, d.By)
	}
	return b.String()
}

func parseRules(t *testing.T, text string) Rules {
	var rules Rules
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		label, category, ok := strings.Cut(fields[0], "=")
		if !ok {
			t.Fatalf("no rule: %q", line)
		}
		rules = append(rules, Rule{Label: label, Category: category, Required: len(fields) == 1})
	}
	return rules
}

func parsePath(t *testing.T, kind PathKind, text string) Path {
	p := Path{Kind: kind}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if why, ok := strings.CutPrefix(line, "broken: "); ok {
			p.Broken = errors.New(why)
			continue
		}
		line, why, unreadable := strings.Cut(line, " unreadable: ")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			t.Fatalf("no object: %q", line)
		}
		o := &Object{Ref: Ref{VCenter: "east", Type: fields[0], ID: fields[1]}, Path: fields[1]}
		for _, f := range fields[2:] {
			category, name, ok := strings.Cut(f, "=")
			if !ok {
				t.Fatalf("no tag: %q", f)
			}
			o.Tags = append(o.Tags, Tag{Category: category, Name: strings.ReplaceAll(name, "␠", " ")})
		}
		if unreadable {
			o.TagsErr = errors.New(why)
		}
		p.Objects = append(p.Objects, o)
	}
	return p
}
