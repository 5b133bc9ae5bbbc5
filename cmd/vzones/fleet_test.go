package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/cluster"
	"vzones/test/operator"
)

// TestFleetScripts runs the commands that read vCenters, against simulated ones. See
// operator.Scripts.Commands for what the scripts have beside testscript's commands.
func TestFleetScripts(t *testing.T) { runScripts(t, "testdata/fleet") }

// TestClusterScripts runs those that read a cluster too, against a real control plane.
func TestClusterScripts(t *testing.T) {
	if _, err := cluster.Find(); err != nil {
		t.Skip(err)
	}
	runScripts(t, "testdata/cluster")
}

func runScripts(t *testing.T, dir string) {
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
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               shared.Setup,
		Cmds:                shared.Commands(),
	})
}
