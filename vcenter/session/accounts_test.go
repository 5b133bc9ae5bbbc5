package session

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestLockouts(t *testing.T) {
	began := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	one, other, elsewhere := account{"10.0.0.1:443", "a"}, account{"10.0.0.1:443", "b"}, account{"10.0.0.2:443", "a"}
	rejected := fmt.Errorf("logging in: %w", ErrRejected)
	a := NewAccounts(LoginLimits{})
	login := func(of account, err error, now time.Time) error {
		if refused := a.begin(now, of); refused != nil {
			return refused
		}
		a.end(err, now, of)
		return nil
	}
	for i, c := range []struct {
		of    account
		at    int
		err   error
		until int // 0: it may be tried
	}{
		{one, 0, rejected, 0},
		{one, 10, nil, 0},
		{one, 20, errors.New("refused connection"), 0},
		{one, 30, rejected, 0},
		{one, 31, nil, 180}, // by whatever entry of the configuration
		{other, 31, rejected, 0},
		{elsewhere, 31, nil, 0},
		{one, 179, nil, 180},
		{one, 180, &unansweredError{error: rejected}, 0},
		{one, 181, nil, 210},
		{one, 400, nil, 0},
	} {
		err := login(c.of, c.err, at(c.at))
		var p *postponedError
		switch {
		case c.until == 0 && err != nil:
			t.Errorf("%d: is not tried: %v", i, err)
		case c.until != 0 && (!errors.As(err, &p) || !p.until.Equal(at(c.until))):
			t.Errorf("%d: got %v, want it at %v", i, err, at(c.until))
		}
	}
	if len(a.used) != 1 { // the last one, until somebody looks
		t.Errorf("%d accounts are remembered", len(a.used))
	}
	for range 2 {
		if err := a.begin(at(500), elsewhere); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.begin(at(500), elsewhere); !errors.As(err, new(*postponedError)) || !NextAttempt(err).IsZero() {
		t.Errorf("a third at the same time: %v", err)
	}
}
