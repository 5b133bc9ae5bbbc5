package metrics

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/provider/absence"
)

// TestReasonsAreDocumented: for which Nodes are kept, as the provider counts them.
func TestReasonsAreDocumented(t *testing.T) {
	counts := idle().Kept()
	want := slices.Sorted(maps.Keys(counts))
	if got := column(t, "### `reason`"); !slices.Equal(got, want) {
		t.Errorf("the reference has %v, the code %v", got, want)
	}
	for _, reason := range want {
		if !strings.Contains(absence.KeptHelp, reason) {
			t.Errorf("the help of the metric does not name %s", reason)
		}
	}
}
