package lies

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vzones/test/golden"
)

// TestTable: the golden file has the lies that are played, and what they gain.
func TestTable(t *testing.T) {
	golden.File(t, "testdata/lies.txt", markdown(table()), *update)
}

// TestWhatIsLeftHasAReason, and every lie is complete.
func TestWhatIsLeftHasAReason(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range table() {
		name := l.about + ": " + l.says
		for _, at := range l.at {
			if key := fmt.Sprint(name, " ", at); seen[key] {
				t.Errorf("%s is there twice", key)
			} else {
				seen[key] = true
			}
		}
		switch {
		case (l.send == nil) == (l.act == nil):
			t.Errorf("%s: either tell or act", name)
		case len(l.at) == 0 || l.becomes == "":
			t.Errorf("%s: no moment, or no outcome", name)
		case l.refused != "" && len(l.left) > 0:
			t.Errorf("%s: what is refused gains nothing", name)
		}
		for g, why := range l.left {
			if !slices.Contains(gains(), g) || why == "" {
				t.Errorf("%s: %q for the reason %q", name, g, why)
			}
		}
	}
}

// markdown returns the table in Markdown.
func markdown(all []lie) string {
	var b strings.Builder
	b.WriteString("| about | it says | when it | API server | its Node")
	for _, g := range gains() {
		b.WriteString(" | " + string(g))
	}
	b.WriteString(" |\n|---|---|---|---|---" + strings.Repeat("|---", len(gains())) + "|\n")
	for i := range all {
		l := &all[i]
		when := make([]string, len(l.at))
		for i, at := range l.at {
			when[i] = string(at)
		}
		written := "lets it"
		if l.refused != "" {
			written = "refuses"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s", l.about, l.says, strings.Join(when, ", "), written, l.becomes)
		for _, g := range gains() {
			b.WriteString(" | " + l.cell(g))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func (l *lie) cell(g gain) string {
	switch {
	case l.left[g] != "":
		return "**yes**"
	case g == ownZone && l.becomes == reported:
		return "reported"
	}
	return "–"
}
