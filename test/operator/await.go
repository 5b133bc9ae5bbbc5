package operator

import (
	"os"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// awaitText waits until a file, which a command in the background writes, has a line.
func awaitText(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var data []byte
	if !await(func() bool {
		data, _ = os.ReadFile(ts.MkAbs(args[0])) // it need not be there yet
		return pattern.Match(data)
	}) {
		ts.Fatalf("%s has no %s: %s", args[0], args[1], data)
	}
}

// awaitRequests waits until a vCenter has got requests, answered or not.
func awaitRequests(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: asked NAME N")
	}
	v, least := theVCenter(ts, args[0]), number(ts, args[1])
	if !await(func() bool { return v.Total() >= least }) {
		ts.Fatalf("vCenter %s had %d requests", v.Name(), v.Total())
	}
}

// await waits until something holds, and reports whether it does.
func await(holds func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(startTime); time.Now().Before(end); <-tick.C {
		if holds() {
			return true
		}
	}
	return false
}
