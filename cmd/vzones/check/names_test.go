package check

import (
	"slices"
	"testing"

	"vzones/provider/nodes"
	"vzones/provider/report"
)

// TestNames: each reason and each outcome of the daemon has a row, and a row explains its problem by findings or by itself.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range AllNames() {
		for _, name := range []string{n.Reason, n.Outcome} {
			if name != "" && seen[name] {
				t.Errorf("%s is in two rows", name)
			}
			seen[name] = true
		}
		if hasMeaning := n.Meaning != ""; hasMeaning == (len(n.Findings) == 1) {
			t.Errorf("the row of %s %v has the findings %q and the meaning %q, want a meaning unless there is one finding", n.Reason, n.Alerts, n.Findings, n.Meaning)
		}
		for _, id := range n.Findings {
			if Lookup(id) == nil {
				t.Errorf("%s: there is no finding %s", n.Reason, id)
			}
		}
		if kind := nodeKinds[n.Outcome]; kind != "" && !slices.Contains(n.Findings, kind) {
			t.Errorf("outcome %s is reported as %s, but has the findings %v", n.Outcome, kind, n.Findings)
		}
	}
	for _, reason := range slices.Concat(report.EventReasons(), nodes.InitializedEventReasons(), []string{report.ConditionUnwritten}) {
		if !seen[reason] {
			t.Errorf("reason %s has no row", reason)
		}
	}
	for _, outcome := range report.Outcomes() {
		if outcome != report.Placed && outcome != report.Foreign && !seen[outcome] {
			t.Errorf("outcome %s has no row", outcome)
		}
	}
	if n := NamesOf("vzonesvcenterunreachable"); n == nil || n.Reason != "VCenterUnreachable" || NamesOf("") != nil || NamesOf("made-up") != nil {
		t.Errorf("NamesOf an alert = %+v, want the row of VCenterUnreachable, and none for other names", n)
	}
}
