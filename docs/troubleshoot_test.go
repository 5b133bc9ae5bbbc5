package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

const troubleshoot = "how-to/troubleshoot.md"

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

// TestEveryEventLeadsSomewhere: the page about troubleshooting has the reason of every Event.
func TestEveryEventLeadsSomewhere(t *testing.T) {
	page := read(t, troubleshoot)
	for _, reason := range reasonsOfEvents(t) {
		if !strings.Contains(page, "`"+reason+"`") {
			t.Errorf("%s does not have the reason %s", troubleshoot, reason)
		}
	}
}
