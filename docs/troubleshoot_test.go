package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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
	if len(reasons) == 0 {
		t.Fatal("the reference of Events has no reasons")
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
