package topology

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vzones/test/golden"
)

const (
	layoutsPage  = "../docs/reference/placement.md"
	layoutsBegin = "<!-- Written by go test ./topology -run TestLayouts -update, from testdata/layouts.txtar. -->\n"
	layoutsEnd   = "<!-- The end of what is written. -->\n"
)

// TestLayouts: the table in the reference says what the golden files say, which
// TestGolden compares with Resolve and with the model of the CSI driver.
func TestLayouts(t *testing.T) {
	var table strings.Builder
	table.WriteString("| layout | tags | CSI driver | `csi` | `nearest` | conflict |\n|---|---|---|---|---|---|\n")
	golden.Each(t, "testdata/layouts.txtar", 8, false, func(t *testing.T, from golden.Case) {
		c := parseCase(t, from)
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n", c.title, tagsOf(c),
			strings.ReplaceAll(section(t, c, "driver"), "k8s-", ""),
			labelsIn(section(t, c, "want")), labelsIn(section(t, c, "nearest")),
			conflictsIn(section(t, c, "want")+"\n"+section(t, c, "nearest")))
	})
	data, err := os.ReadFile(layoutsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), layoutsBegin)
	written, after, ends := strings.Cut(rest, layoutsEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", layoutsPage)
	}
	if *update {
		page := before + layoutsBegin + "\n" + table.String() + "\n" + layoutsEnd + after
		if err := os.WriteFile(layoutsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := "\n" + table.String() + "\n"; got != written {
		t.Errorf("the table in %s is not current, it has to be:\n%s", layoutsPage, got)
	}
}

func section(t *testing.T, c goldenCase, name string) string {
	t.Helper()
	i := slices.IndexFunc(c.sections, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("%s: no section %q", c.title, name)
	}
	return strings.TrimSpace(string(c.sections[i].Data))
}

// tagsOf lists each tagged object once, by the path on which it is nearest.
func tagsOf(c goldenCase) string {
	var tagged, seen []string
	for _, p := range c.paths {
		for _, o := range p.Objects {
			if len(o.Tags) == 0 || slices.Contains(seen, o.String()) {
				continue
			}
			seen = append(seen, o.String())
			kind := o.kind()
			if o.Path == "/" {
				kind = "root folder"
			}
			var tags []string
			for _, tag := range o.Tags {
				tags = append(tags, strings.TrimPrefix(tag.Category, "k8s-")+" "+tag.Name)
			}
			tagged = append(tagged, kind+": "+strings.Join(tags, ", "))
		}
	}
	return strings.Join(tagged, "; ")
}

func labelsIn(golden string) string {
	if why, ok := strings.CutPrefix(golden, "error: "); ok {
		outcome, _, _ := strings.Cut(why, ":")
		return "waits: " + outcome
	}
	var values []string
	for line := range strings.Lines(golden) {
		for _, label := range []string{LabelRegion, LabelZone} {
			if value, ok := strings.CutPrefix(line, label+": "); ok {
				values = append(values, strings.Fields(value)[0])
			}
		}
	}
	return strings.Join(values, " / ")
}

func conflictsIn(golden string) string {
	kinds := []string{}
	for line := range strings.Lines(golden) {
		if conflict, ok := strings.CutPrefix(line, "conflict: "); ok {
			kind := "`" + strings.Fields(conflict)[0] + "`"
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, ", ")
}
