package operator

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/stack"
)

// runWithin runs a program, and fails if it takes much longer.
func runWithin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] within DURATION PROGRAM [ARG…]")
	}
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	began := time.Now()
	err = ts.Exec(args[1], args[2:]...)
	if took := time.Since(began); took > stack.Slower(most) {
		ts.Fatalf("it took %v", took)
	}
	if (err != nil) != neg {
		ts.Fatalf("unexpected end: %v", err)
	}
}
