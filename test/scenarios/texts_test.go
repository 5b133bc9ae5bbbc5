package scenarios

import (
	"strings"
	"testing"
)

// TestFlaws: what an operator would complain about is found.
func TestFlaws(t *testing.T) {
	const good = `vCenter "east": cluster /dc/host/c has two tags: detach one`
	for want, e := range map[string]said{
		"":                          {"Warning", "Ambiguous", good},
		"has several lines":         {"Warning", "Ambiguous", good + "\nand more"},
		"has 459 bytes":             {"Warning", "Ambiguous", good + strings.Repeat("x", 400)},
		"does not name the vCenter": {"Warning", "Ambiguous", "cluster /dc/host/c has two tags: detach one"},
		"does not say what to do":   {"Warning", "Ambiguous", `vCenter "east": cluster /dc/host/c has two tags`},
		"says unknown:":             {"Warning", "VCenterUnknown", "unknown: " + good},
		"says https://":             {"Warning", "VCenterUnreachable", `Post "https://10.0.0.1/sdk": ` + good},
		"says HostSystem":           {"Normal", "TopologyUpdated", "label zone=a is added, by HostSystem /dc/host/c/h"},
	} {
		if got := flaw(e); got != want {
			t.Errorf("%q, not %q: %+v", got, want, e)
		}
	}
	for _, e := range []said{
		{"Normal", "TopologyBackfilled", `label zone=a is added, by category "zone" on cluster /dc/host/c of vCenter "east"`},
		{"Warning", "ConfigurationRefused", "vsphere.yaml:5: labels.regio: unknown key: did you mean region?"},
		{"Warning", "VCenterUnknown", `vCenter "east" is not read yet: it is read next`},
	} {
		if got := flaw(e); got != "" {
			t.Errorf("%q: %+v", got, e)
		}
	}
}
