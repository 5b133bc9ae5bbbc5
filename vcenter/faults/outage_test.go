package faults

import (
	"fmt"
	"testing"
)

// TestOutageIsBounded: errors that are never the same do not fill the memory.
func TestOutageIsBounded(t *testing.T) {
	var o Outage
	for i := range 10 * maxOutageErrors {
		if !o.Begins(fmt.Errorf("error %d", i)) {
			t.Fatal("a new error counts as logged")
		}
	}
	if len(o) > maxOutageErrors {
		t.Errorf("%d errors are kept", len(o))
	}
	if !o.End() || o.End() {
		t.Error("an outage ends once")
	}
}
