package vcenter

import (
	"strings"
	"testing"
	"time"

	"vzones/vcenter/panics"
)

// TestAPanicOfWhatRunsAside is the panic of whoever waits for it.
func TestAPanicOfWhatRunsAside(t *testing.T) {
	ended, wait := panics.Go(func() { panic("made-up") })
	<-ended
	defer func() {
		if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "made-up\n") || !strings.Contains(p, "aside_test.go") {
			t.Errorf("recovered %q", p)
		}
	}()
	wait()
	t.Error("it has not panicked")
}

// TestALoginThatPanics is no longer under way.
func TestALoginThatPanics(t *testing.T) {
	_, _, cfg := eastBehindFront(t)
	s, err := login(t.Context(), &cfg, Credentials{User: cfg.User, Password: cfg.Password}, callsWithin(5*time.Second, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer ending(t, s)
	broken := &session{soap: s.soap, vim: nil, creds: s.Credentials(), calls: callsWithin(time.Second, 1)}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it has not panicked")
			}
		}()
		_ = broken.attempt(t.Context())
	}()
	if n := broken.calls.attempts.pending; n != 0 {
		t.Errorf("%d attempts are under way", n)
	}
	if n := len(broken.calls.attempts.failures); n != 1 {
		t.Errorf("%d may have failed", n)
	}
}
