package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"vzones/cmd/vzones/check"
)

var update = flag.Bool("update", false, "write the table of findings")

// TestFindingsAreCurrent: the reference has the tables of findings and of names. With -update they are written.
func TestFindingsAreCurrent(t *testing.T) {
	const page, begin = "reference/findings.md", "<!-- written by go test ./docs -run TestFindingsAreCurrent -update -->\n"
	var b strings.Builder
	b.WriteString("\nID|Severity|Problem|Fix\n-|-|-|-\n")
	for _, k := range check.Kinds() {
		fmt.Fprintf(&b, "<a id=\"%s\"></a>%s|%s|%s|%s\n", strings.ToLower(k.ID), k.ID, k.Severity, k.Title, k.Fix)
	}
	b.WriteString("\n## The names of a problem\n\n`vzones explain` accepts each of these names.\n\nReason of Events|Outcome in metrics|Alerts|Findings\n-|-|-|-\n")
	for _, n := range check.AllNames() {
		fmt.Fprintf(&b, "%s|%s|%s|%s\n", n.Reason, n.Outcome, strings.Join(n.Alerts, ", "), strings.Join(n.Findings, ", "))
	}
	text := read(t, page)
	before, _, ok := strings.Cut(text, begin)
	if !ok {
		t.Fatalf("%s has no place for the kinds", page)
	}
	want := before + begin + b.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Errorf("%s is not current: run go test ./docs -run TestFindingsAreCurrent -update", page)
	}
}

// TestEachNameIsKnown: vzones explain knows the reason of each Event of vzones, and each alert.
func TestEachNameIsKnown(t *testing.T) {
	page := read(t, "reference/events.md")
	for _, heading := range []string{"## Unresolved Nodes", "## On initialized Nodes", "## On the daemon's Pod"} {
		for _, row := range rows(t, page, heading) {
			if reason, _, _ := strings.Cut(strings.TrimLeft(row[0], "[`"), "`"); check.NamesOf(reason) == nil {
				t.Errorf("the Event %s has no row in names.yaml", reason)
			}
		}
	}
	for alert := range runbookLinks(t) {
		if check.NamesOf(alert) == nil {
			t.Errorf("the alert %s has no row in names.yaml", alert)
		}
	}
}
