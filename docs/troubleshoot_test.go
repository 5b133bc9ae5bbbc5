package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/test/page"
)

const troubleshoot = "how-to/troubleshoot.md"

var reasonInCell = regexp.MustCompile("`([A-Z][A-Za-z]+)`")

// reasonsOfEvents returns the reasons that the reference of Events has.
func reasonsOfEvents(t *testing.T) (reasons []string) {
	t.Helper()
	page := read(t, "reference/events.md")
	for _, m := range regexp.MustCompile(`(?m)^## .*$`).FindAllString(page, -1) {
		if m == "## Examples" {
			continue // of the same reasons
		}
		for _, row := range rows(t, page, m) {
			reason, _, _ := strings.Cut(strings.TrimLeft(row[0], "[`"), "`")
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) < 25 {
		t.Fatalf("only %d reasons in the reference", len(reasons))
	}
	return reasons
}

// TestEveryEventLeadsSomewhere: the table of Events on the page about troubleshooting has every
// reason once, each with a link.
func TestEveryEventLeadsSomewhere(t *testing.T) {
	var got []string
	for _, row := range rows(t, read(t, troubleshoot), "## Events and alerts") {
		if len(row) != 3 || !link.MatchString(row[1]) {
			t.Errorf("%s leads nowhere: %q", row[0], row)
		}
		for _, m := range reasonInCell.FindAllStringSubmatch("`"+row[0]+"`", -1) {
			got = append(got, m[1])
		}
	}
	want := reasonsOfEvents(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has the reasons\n%q\nthe reference has\n%q", troubleshoot, got, want)
	}
}

// TestEveryRunbookIsReached: troubleshooting leads to each runbook, from the row of an Event.
func TestEveryRunbookIsReached(t *testing.T) {
	runbooks, err := filepath.Glob("how-to/runbooks/*.md")
	if err != nil || len(runbooks) < 20 {
		t.Fatalf("%d runbooks, %v", len(runbooks), err)
	}
	alerts := ""
	for _, row := range rows(t, read(t, troubleshoot), "## Events and alerts") {
		alerts += row[2] + "\n"
	}
	for _, runbook := range runbooks {
		if name := filepath.Base(runbook); !strings.Contains(alerts, "(runbooks/"+name+")") {
			t.Errorf("no row leads to %s", name)
		}
	}
}

// elsewhere is where a symptom leads that is not due to vzones.
var elsewhere = []string{"the audit log of the API server", "its kubelet"}

// TestSymptomsLeadSomewhere: an entry at the beginning leads to each section, the sections of symptoms
// have a command, and each row of their tables leads to a page or is not due to vzones.
func TestSymptomsLeadSomewhere(t *testing.T) {
	text := read(t, troubleshoot)
	_, tree, _ := strings.Cut(text, "\n## Where to begin\n")
	tree, rest, _ := strings.Cut(tree, "\n## ")
	led := map[string]bool{}
	for entry := range strings.SplitSeq(tree, "- **") {
		for _, m := range link.FindAllStringSubmatch(entry, -1) {
			led[m[1]] = true
		}
	}
	for section := range strings.SplitSeq(rest, "\n## ") {
		title, body, _ := strings.Cut(section, "\n")
		for anchor := range anchors("## " + title + "\n") {
			if !led["#"+anchor] {
				t.Errorf("no entry leads to %q", title)
			}
		}
		if title != "After a change" && title != "Events and alerts" && len(page.Blocks(body)) == 0 {
			t.Errorf("%q has no command", title)
		}
		for _, row := range rows(t, text, "## "+title) {
			if text := strings.Join(row, "|"); !link.MatchString(text) && !slices.Contains(elsewhere, row[len(row)-1]) {
				t.Errorf("%q: the row %q leads nowhere", title, text)
			}
		}
	}
}
