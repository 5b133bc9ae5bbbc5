package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/operator"
)

// TestPages runs what the documentation shows of the tool: the blocks of kind console of its pages,
// and its pictures, each with the fleet that a script in testdata/pages has for it. With -update the
// outputs and the pictures are written.
func TestPages(t *testing.T) {
	shared := operator.Scripts{Root: "../..", Update: *update}
	t.Cleanup(func() {
		if err := shared.Stop(); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/pages",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               shared.Setup,
		Cmds:                shared.Commands(),
	})
}
