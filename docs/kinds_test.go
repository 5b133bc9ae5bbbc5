package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	fleetfinding "vzones/cmd/vzones/finding"
)

const findingsPage = "reference/findings.md"

// TestFindingKindsAreDocumented: the reference has each kind of finding about a fleet, under its ID.
// With -update it is written.
func TestFindingKindsAreDocumented(t *testing.T) {
	const begin, end = "<!-- written by go test ./docs -run TestFindingKindsAreDocumented -update -->\n", "<!-- end of the kinds -->\n"
	var b strings.Builder
	for _, k := range fleetfinding.Kinds() {
		fmt.Fprintf(&b, "\n### %s\n\n**%s**: %s. %s\n\nWhat to do: %s\n", k.ID, k.Severity, k.Title, k.Meaning, k.Fix)
	}
	b.WriteString("\n")
	text := read(t, findingsPage)
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the kinds", findingsPage)
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(findingsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Errorf("%s is not current: run go test ./docs -run TestFindingKindsAreDocumented -update", findingsPage)
	}
}

// TestFindingKinds: IDs are used once, in order, and lead to the reference.
func TestFindingKinds(t *testing.T) {
	id, last := regexp.MustCompile(`^VZ[13]\d\d$`), ""
	all := fleetfinding.Kinds()
	for _, k := range all {
		if !id.MatchString(k.ID) || k.ID <= last {
			t.Errorf("%s after %s", k.ID, last)
		}
		last = k.ID
		if k.Title == "" || k.Meaning == "" || k.Fix == "" {
			t.Errorf("%s: %q, %q, %q", k.ID, k.Title, k.Meaning, k.Fix)
		}
		if want := "docs/" + findingsPage + "#" + strings.ToLower(k.ID); k.Page() != want {
			t.Errorf("%s: %s, want %s", k.ID, k.Page(), want)
		}
	}
	if len(all) == 0 {
		t.Error("there are no kinds")
	}
}
