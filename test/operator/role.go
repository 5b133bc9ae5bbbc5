package operator

import (
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func checkRole(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: role NAME ROLE [PRIVILEGE…]")
	}
	has := theVCenter(ts, args[0]).Role(args[1])
	further := slices.DeleteFunc(slices.Clone(has), func(p string) bool { return strings.HasPrefix(p, "System.") })
	is := has != nil && slices.Equal(further, args[2:])
	if is == neg {
		ts.Fatalf("the role %s of vCenter %s has the privileges %q", args[1], args[0], has)
	}
}
