package session

import (
	"context"
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/credentials"
	"vzones/vcenter/vcentertest"
)

// TestALoginThatPanics is no longer under way.
func TestALoginThatPanics(t *testing.T) {
	_, _, cfg := vcentertest.EastBehindFront(t)
	s, err := Open(t.Context(), testEndpoint(&cfg), credentials.Credentials{User: cfg.User, Password: cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.WithoutCancel(t.Context())) }()
	broken := &Session{soap: s.soap, vim: nil, creds: s.creds, endpoint: testEndpoint(&cfg)}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it has not panicked")
			}
		}()
		_ = broken.logIn(t.Context())
	}()
	throttle := broken.endpoint.throttle
	if u := throttle.accounts.used[throttle]; u.pending != 0 || len(u.failed) != 1 {
		t.Errorf("%d attempts are under way, and %d may have failed", u.pending, len(u.failed))
	}
}

// TestLostSessionAtALogin is no rejection: it says nothing about the account.
func TestLostSessionAtALogin(t *testing.T) {
	for name, c := range map[string]struct {
		fault    types.AnyType
		rejected bool
	}{
		"NotAuthenticated": {types.NotAuthenticated{}, false},
		"NoPermission":     {types.NoPermission{}, true},
		"PasswordExpired":  {types.PasswordExpired{}, true},
		"SystemError":      {types.SystemError{}, false},
	} {
		if err := asRejection(vcentertest.SOAPFault(c.fault), certificateRejected); errors.Is(err, ErrRejected) != c.rejected {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := asRejection(nil, passwordRejected); err != nil {
		t.Error(err)
	}
}
