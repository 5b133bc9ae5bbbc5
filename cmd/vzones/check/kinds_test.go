package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/provider/report"
	"vzones/topology"
)

// TestEachKindIsFound: the scripts of check find each kind, but for those that need what simulated
// vCenters do not have. Those are named here, with what tests them.
func TestEachKindIsFound(t *testing.T) {
	elsewhere := map[string]string{
		"VZ104": "TestSteps",
		"VZ159": "TestUnplaced",
		"VZ160": "TestUnplaced",
		"VZ163": "TestUnplaced",
	}
	scripts, err := filepath.Glob("../testdata/*/check*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	var all strings.Builder
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "#") {
				all.WriteString(line)
			}
		}
	}
	found := regexp.MustCompile(`VZ\d{3}`).FindAllString(all.String(), -1)
	for _, k := range Kinds() {
		_, other := elsewhere[k.ID]
		if in := slices.Contains(found, k.ID); in == other {
			t.Errorf("%s (%s): in a script: %t, tested elsewhere: %t", k.ID, k.Title, in, other)
		}
	}
}

// TestTablesAreComplete: each conflict and each outcome that the daemon knows is a finding, or is
// said not to be one.
func TestTablesAreComplete(t *testing.T) {
	for _, kind := range topology.ConflictKinds() {
		if _, ok := conflictKinds[kind]; !ok {
			t.Errorf("conflict %s has no kind of finding", kind)
		}
	}
	for _, name := range report.Outcomes() {
		if name == report.Placed || name == report.Foreign {
			continue
		}
		if _, ok := nodeKinds[name]; !ok {
			t.Errorf("outcome %s has no kind of finding", name)
		}
	}
}
