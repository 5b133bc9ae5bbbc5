package operator

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// awaitRequests waits until a vCenter has got requests, answered or not.
func awaitRequests(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: asked NAME N")
	}
	v := theVCenter(ts, args[0])
	least := number(ts, args[1])
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
