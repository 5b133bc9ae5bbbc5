package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/cmd/vzones/check"
	"vzones/test/cluster"
	"vzones/test/operator"
)

// TestFleetScripts runs the commands that read vCenters against simulated vCenters.
// operator.Scripts.Commands documents the additional script commands.
func TestFleetScripts(t *testing.T) { runScripts(t, "testdata/fleet") }

// coreScripts are the scripts of testdata/cluster that also run with -short: one per command.
var coreScripts = []string{"check-planted", "check-sound", "explain-node", "map", "nodes-cluster", "plan-daemon", "plan-now"}

// TestClusterScripts runs the commands that read a cluster against a real control plane.
func TestClusterScripts(t *testing.T) {
	if _, err := cluster.Find(); err != nil {
		t.Skip(err)
	}
	const dir = "testdata/cluster"
	if !testing.Short() {
		runScripts(t, dir)
		return
	}
	var files []string
	for _, name := range coreScripts {
		files = append(files, filepath.Join(dir, name+".txtar"))
	}
	runScripts(t, "", files...)
}

// runScripts runs all scripts of a directory, or only the named files.
func runScripts(t *testing.T, dir string, files ...string) {
	t.Helper()
	t.Parallel()
	shared := operator.NewScripts("../..")
	t.Cleanup(func() {
		if err := shared.Stop(); err != nil {
			t.Error(err)
		}
	})
	commands := shared.Commands()
	commands["finds"] = findsFirst
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               shared.Setup,
		Cmds:                commands,
	})
}

// findsFirst runs vzones check and checks its findings:
//
//	finds [FLAG…] ID CAUSE FIX [ID…]  fails unless the first finding has the ID, its text matches CAUSE, its text,
//	                                  remedy or commands match FIX, and there is no finding but those of these IDs
func findsFirst(ts *testscript.TestScript, _ bool, args []string) {
	flags := []string{"check", "-c=vsphere.yaml", "-o=json"}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flags, args = append(flags, args[0]), args[1:]
	}
	if len(args) < 3 {
		ts.Fatalf("usage: finds [FLAG…] ID CAUSE FIX [ID…]")
	}
	_ = ts.Exec("vzones", flags...) // The exit status is 1, because there are findings.
	var report struct {
		Findings []check.Cause `json:"findings"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &report))
	if len(report.Findings) == 0 {
		ts.Fatalf("nothing is found")
	}
	first := report.Findings[0]
	fix := strings.Join(append([]string{first.Text, first.Fix}, first.Commands...), "\n")
	if first.ID != args[0] || !regexp.MustCompile(args[1]).MatchString(first.Text) || !regexp.MustCompile(args[2]).MatchString(fix) {
		ts.Fatalf("the first finding is %s: %s\n%s", first.ID, first.Text, fix)
	}
	for _, f := range report.Findings {
		if f.ID != first.ID && !slices.Contains(args[3:], f.ID) {
			ts.Fatalf("also found: %s %s: %s", f.ID, f.Objects, f.Text)
		}
	}
}
