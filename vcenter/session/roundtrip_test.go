package session

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/vcentertest"
)

func TestCallsAreRepeated(t *testing.T) {
	broken := &net.OpError{Op: "read", Net: "tcp", Err: temporary{}}
	for _, c := range []struct {
		name         string
		errs         []error
		tries, calls int
		ok           bool
	}{
		{"at once", nil, 3, 1, true},
		{"after the network broke", []error{broken, broken}, 3, 3, true},
		{"not for ever", []error{broken, broken, broken, broken}, 3, 3, false},
		{"once at least", []error{broken}, 0, 1, false},
		{"not a fault", []error{vcentertest.SOAPFault(types.NoPermission{})}, 3, 1, false},
		{"not what took too long", []error{context.DeadlineExceeded}, 3, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := &scripted{errs: c.errs}
			err := testEndpoint(&config.VCenter{RoundTrips: c.tries}).roundTripper(next).RoundTrip(t.Context(), &methods.LoginBody{}, &methods.LoginBody{Res: &types.LoginResponse{}})
			if next.calls != c.calls || (err == nil) != c.ok {
				t.Errorf("%d calls, %v; want %d", next.calls, err, c.calls)
			}
		})
	}
}

type temporary struct{}

func (temporary) Error() string   { return "connection reset" }
func (temporary) Timeout() bool   { return false }
func (temporary) Temporary() bool { return true }

// scripted returns each of its errors once, then succeeds.
type scripted struct {
	errs  []error
	calls int
}

func (s *scripted) RoundTrip(ctx context.Context, _, _ soap.HasFault) error {
	s.calls++
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a call without a deadline")
	}
	if s.calls <= len(s.errs) {
		return &url.Error{Op: "Post", URL: "https://vc/sdk", Err: s.errs[s.calls-1]}
	}
	return nil
}

// testEndpoint returns an endpoint whose observer ignores all calls.
func testEndpoint(cfg *config.VCenter) *Endpoint {
	return NewEndpoint(cfg, Options{Timeout: 30 * time.Second, LoginTimeout: 30 * time.Second, Throttle: NewLoginThrottle(LoginLimits{}, nil), Observer: new(vcentertest.Counter), Guard: &faults.Guard{}})
}

// TestALoginThatPanics checks that such a login is no longer pending.
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
	if u := throttle.accounts.records[throttle]; u.pending != 0 || len(u.failed) != 1 {
		t.Errorf("%d attempts are under way, and %d may have failed", u.pending, len(u.failed))
	}
}

// TestLostSessionAtALogin checks that a lost session is no rejection of the account.
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
			t.Errorf("asRejection of a fault %s: %v, is ErrRejected %t, want %t", name, err, !c.rejected, c.rejected)
		}
	}
	if err := asRejection(nil, passwordRejected); err != nil {
		t.Error(err)
	}
}
