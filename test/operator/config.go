package operator

import (
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func anotherConfig(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: config FILE MORE")
	}
	writeConfig(ts, args[0], []byte(ts.ReadFile("vsphere.yaml")), ts.ReadFile(args[1]))
}

// writeEntries replaces the single vCenter entry of vsphere.yaml with an entry per datacenter.
func writeEntries(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: entries NAME FILE DATACENTER…")
	}
	prefix, rest, found := strings.Cut(ts.ReadFile("vsphere.yaml"), "\n  "+args[0]+":\n")
	entry, behind, closed := strings.Cut(rest, "\nlabels:")
	if !found || !closed {
		ts.Fatalf("vsphere.yaml has no entry %s before its labels", args[0])
	}
	text := prefix
	for _, datacenter := range args[2:] {
		text += "\n  " + args[0] + "-" + datacenter + ":\n" + entry + "\n    datacenters: [" + datacenter + "]"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text+"\nlabels:"+behind), 0o600))
}
