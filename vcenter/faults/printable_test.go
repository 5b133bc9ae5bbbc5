package faults_test

import (
	"errors"
	"io"
	"testing"

	"vzones/vcenter/faults"
)

func TestErrorsReadTheSameEachTime(t *testing.T) {
	for in, want := range map[string]string{
		"read tcp 10.0.0.1:43210->10.0.0.2:443: read: connection reset by peer": "read tcp 10.0.0.2:443: read: connection reset by peer",
		"read tcp [fd00::1]:43210->[fd00::2]:443: i/o timeout":                  "read tcp [fd00::2]:443: i/o timeout",
		"dial tcp 10.0.0.2:443: connect: connection refused":                    "dial tcp 10.0.0.2:443: connect: connection refused",
	} {
		if got := (faults.Printable{Err: errors.New(in)}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !errors.Is(faults.Printable{Err: io.EOF}, io.EOF) {
		t.Error("the cause is lost")
	}
}

// TestWhatErrorsDoNotPrint: the ID of a session is in the IDs of its objects, which
// vCenter names in its faults.
func TestWhatErrorsDoNotPrint(t *testing.T) {
	refused := faults.Printable{Err: errors.New(`Post "https://10.0.0.1:443/sdk": dial tcp 10.0.0.1:443: connect: connection refused`)}
	if got, want := refused.Error(), "dial tcp 10.0.0.1:443: connect: connection refused"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	cause := errors.New("read tcp 127.0.0.1:40113->10.0.0.1:443: the object 'ListView:session[7d624c84-d91d]52b0e1a1-0000' has been deleted")
	err := faults.Printable{Err: cause}
	if got, want := err.Error(), "read tcp 10.0.0.1:443: the object 'ListView:of the session' has been deleted"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}
