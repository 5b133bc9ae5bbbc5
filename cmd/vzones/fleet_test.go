package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/operator"
)

// TestFleetScripts runs the commands that read vCenters, against simulated ones. See
// operator.Scripts.Commands for what the scripts have beside testscript's commands.
func TestFleetScripts(t *testing.T) {
	shared := operator.Scripts{Root: "../.."}
	t.Cleanup(func() {
		if err := shared.Stop(); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/fleet",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               shared.Setup,
		Cmds:                shared.Commands(),
	})
}
