package faults_test

import (
	"fmt"
	"testing"

	"vzones/vcenter/faults"
)

// TestOutageIsBounded: errors that are never the same do not fill the memory.
func TestOutageIsBounded(t *testing.T) {
	const most = 50
	var o faults.Outage
	for i := range 10 * most {
		if !o.Begins(fmt.Errorf("error %d", i)) {
			t.Fatal("a new error counts as logged")
		}
	}
	if len(o) > most {
		t.Errorf("%d errors are kept", len(o))
	}
	if !o.End() || o.End() {
		t.Error("an outage ends once")
	}
}
