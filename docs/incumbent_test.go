package docs_test

import (
	"slices"
	"strings"
	"testing"

	"vzones/provider/nodeinfo"
)

// TestKeysOnNodesAreCompared: the comparison with the incumbent has each key of ours on a
// Node, and no other one that begins as they do.
func TestKeysOnNodesAreCompared(t *testing.T) {
	var got []string
	for _, row := range rows(t, read(t, "reference/compared-with-the-cpi.md"), "## On Nodes") {
		for i, part := range strings.Split(row[0], "`") {
			if i%2 == 1 && strings.HasPrefix(part, "vzones/") {
				got = append(got, part)
			}
		}
	}
	want := []string{nodeinfo.KeyMachine, nodeinfo.KeyVCenter, nodeinfo.KeyLabels, nodeinfo.TopologyReady, nodeinfo.DriftTaint}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("it has %q, and the code %q", got, want)
	}
}
