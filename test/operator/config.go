package operator

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// anotherConfig writes a copy of vsphere.yaml in which other keys stand.
func anotherConfig(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: config FILE MORE")
	}
	before := ts.ReadFile("vsphere.yaml")
	writeConfig(ts, []byte(before), ts.ReadFile(args[1]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile("vsphere.yaml")), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("vsphere.yaml"), []byte(before), 0o600))
}
