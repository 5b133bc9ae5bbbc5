package faults_test

import (
	"strings"
	"testing"

	"vzones/vcenter/faults"
)

// TestAPanicInTheBackground is the panic of whoever waits for it.
func TestAPanicInTheBackground(t *testing.T) {
	ended, wait := faults.Go(func() { panic("made-up") })
	<-ended
	defer func() {
		if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "made-up\n") || !strings.Contains(p, "go_test.go") {
			t.Errorf("recovered %q", p)
		}
	}()
	wait()
	t.Error("it has not panicked")
}
