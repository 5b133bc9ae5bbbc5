package operator

import "github.com/rogpeppe/go-internal/testscript"

// countLogins compares how often a password was shown to a vCenter.
func countLogins(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: logins NAME N")
	}
	v, want := theVCenter(ts, args[0]), number(ts, args[1])
	if got := v.Requests()["Login"]; (got != want) != neg {
		ts.Fatalf("vCenter %s had %d logins: %v", v.Name(), got, v.Requests())
	}
}
