package docs_test

import (
	"slices"
	"strings"
	"testing"

	"vzones/provider"
	"vzones/provider/reconcile"
)

// TestReasonsAreDocumented: the reference has every reason of an Event and no
// other, and the guide has a section on each.
func TestReasonsAreDocumented(t *testing.T) {
	want := slices.Sorted(slices.Values(provider.EventReasons()))

	var got []string
	for _, row := range rows(t, read(t, "reference/node.md"), "## Events") {
		got = append(got, row[0])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the reference has %v, the code %v", got, want)
	}

	want, got = slices.Sorted(slices.Values(reconcile.EventReasons())), nil
	for _, row := range rows(t, read(t, "reference/node.md"), "### Of the topology controller") {
		got = append(got, row[0])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("of the topology controller the reference has %v, the code %v", got, want)
	}

	want = slices.Sorted(slices.Values(provider.EventReasons()))
	var sections []string
	for line := range strings.Lines(read(t, "how-to/find-out-why-a-node-waits.md")) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			sections = append(sections, reason)
		}
	}
	slices.Sort(sections)
	if !slices.Equal(sections, want) {
		t.Errorf("the guide has %v, the code %v", sections, want)
	}
}
