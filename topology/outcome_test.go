package topology

import (
	"errors"
	"fmt"
	"testing"
)

// TestErrorf: an error of a kind is what it wraps too, and says only what the format says.
func TestErrorf(t *testing.T) {
	cause := errors.New("refused")
	err := fmt.Errorf("node-1: %w", Errorf(Kinds{ErrUnknown, ErrNoCategory}, "tags of %s: %w", "host h", cause))
	if want := "node-1: tags of host h: refused"; err.Error() != want {
		t.Errorf("%q, not %q", err, want)
	}
	for _, is := range []error{ErrUnknown, ErrNoCategory, cause} {
		if !errors.Is(err, is) {
			t.Errorf("it is not %q", is)
		}
	}
	for _, not := range []error{ErrAbsent, ErrMissing, ErrAmbiguous, ErrInvalid, ErrNotPermitted} {
		if errors.Is(err, not) {
			t.Errorf("it is %q", not)
		}
	}
	if got, want := (Kinds{ErrUnknown, ErrMissing}).Error(), "unknown, missing"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
