package faults_test

import (
	"strings"
	"testing"

	"vzones/vcenter/faults"
)

func TestAPanicInTheBackground(t *testing.T) {
	ended, wait := faults.Go(func() { panic("made-up") })
	<-ended
	defer func() {
		p, ok := recover().(string)
		if !ok || !strings.HasPrefix(p, "made-up\n") || !strings.Contains(p, "guard_test.go") {
			t.Errorf("wait panicked with %q, want the text made-up and a stack of this file", p)
		}
	}()
	wait()
	t.Error("wait returned, want a panic")
}
