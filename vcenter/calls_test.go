package vcenter

import (
	"errors"
	"io"
	"testing"
)

func TestTroubleReadsTheSameEachTime(t *testing.T) {
	for in, want := range map[string]string{
		"read tcp 10.0.0.1:43210->10.0.0.2:443: read: connection reset by peer": "read tcp 10.0.0.2:443: read: connection reset by peer",
		"read tcp [fd00::1]:43210->[fd00::2]:443: i/o timeout":                  "read tcp [fd00::2]:443: i/o timeout",
		"dial tcp 10.0.0.2:443: connect: connection refused":                    "dial tcp 10.0.0.2:443: connect: connection refused",
	} {
		if got := (portless{errors.New(in)}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !errors.Is(portless{io.EOF}, io.EOF) {
		t.Error("the cause is lost")
	}
}
