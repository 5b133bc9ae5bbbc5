package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/cluster"
	"vzones/test/operator"
)

// TestFleetScripts runs the commands that read vCenters, against simulated ones. See
// operator.Scripts.Commands for what the scripts have beside testscript's commands.
func TestFleetScripts(t *testing.T) { runScripts(t, "testdata/fleet") }

// coreScripts are those of testdata/cluster that -short plays: one for each command.
var coreScripts = []string{"check-copies", "check-faults", "check-nodes", "check-sound", "explain-node", "map", "nodes-cluster", "plan-daemon", "plan-now"}

// TestClusterScripts runs those that read a cluster too, against a real control plane.
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

// runScripts runs the scripts of a folder, or these files.
func runScripts(t *testing.T, dir string, files ...string) {
	t.Helper()
	t.Parallel()
	shared := operator.NewScripts("../..")
	t.Cleanup(func() {
		if err := shared.Stop(); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               shared.Setup,
		Cmds:                shared.Commands(),
	})
}
