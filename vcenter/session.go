package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/vmware/govmomi/fault"
	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
)

// errRejected: the vCenter does not accept the credentials. Trying them again
// would lock the account.
var errRejected = errors.New("the user name or password is rejected")

// session is one login: a SOAP session and, once tags are read, a REST one.
// The SOAP client may be used concurrently.
type session struct {
	soap    *soap.Client
	vim     *vim25.Client
	creds   Credentials
	timeout time.Duration

	// What follows belongs to the goroutine that reads.

	// rest is nil until tags are read.
	rest *rest.Client
	// views are the container views of the machines, made once a session; the
	// server destroys them with it. incomplete says what they leave out.
	views      []types.ManagedObjectReference
	incomplete error
}

// login opens a SOAP session.
func login(ctx context.Context, cfg *config.VCenter, creds Credentials, timeout time.Duration) (*session, error) {
	sc, err := newSOAPClient(cfg, timeout)
	if err != nil {
		return nil, err
	}
	var vc *vim25.Client
	err = withDeadline(ctx, timeout, func(ctx context.Context) (err error) {
		vc, err = vim25.NewClient(ctx, sc)
		return err
	})
	if err != nil {
		sc.CloseIdleConnections()
		return nil, fmt.Errorf("connecting to %s: %w", sc.URL().Host, err)
	}
	// A login that the network broke is not repeated: the first one may have
	// left a session behind.
	vc.RoundTripper = &caller{next: sc, timeout: timeout, tries: 1}
	err = vim.NewManager(vc).Login(ctx, url.UserPassword(creds.User, creds.Password.Reveal()))
	if err != nil {
		sc.CloseIdleConnections()
		if fault.Is(err, &types.InvalidLogin{}) {
			return nil, fmt.Errorf("logging in to %s as %s: %w", sc.URL().Host, creds.User, errRejected)
		}
		return nil, fmt.Errorf("logging in to %s as %s: %w", sc.URL().Host, creds.User, err)
	}
	vc.RoundTripper = &caller{next: sc, timeout: timeout, tries: cfg.RoundTrips}
	return &session{soap: sc, vim: vc, creds: creds, timeout: timeout}, nil
}

// lost says whether the server no longer knows the session.
func lost(err error) bool {
	return err != nil && fault.Is(err, &types.NotAuthenticated{})
}

// withREST calls f with the session's REST client, after logging in where that
// has not happened yet or the server has forgotten it. It belongs to the
// goroutine that reads; f bounds its own calls.
func (s *session) withREST(ctx context.Context, f func(*rest.Client) error) error {
	fresh := s.rest == nil
	if fresh {
		if err := s.loginREST(ctx); err != nil {
			return fmt.Errorf("logging in to the tagging API of %s: %w", s.soap.URL().Host, err)
		}
	}
	err := f(s.rest)
	if !isStatus(err, http.StatusUnauthorized) {
		return err
	}
	s.rest = nil
	if fresh {
		return err
	}
	return s.withREST(ctx, f)
}

func (s *session) loginREST(ctx context.Context) error {
	c := rest.NewClient(s.vim)
	err := withDeadline(ctx, s.timeout, func(ctx context.Context) error {
		return c.Login(ctx, url.UserPassword(s.creds.User, s.creds.Password.Reveal()))
	})
	if isStatus(err, http.StatusUnauthorized) {
		return errRejected
	}
	if err == nil {
		s.rest = c
	}
	return err
}

// isStatus looks for an HTTP status in the whole chain of an error, which
// govmomi's own function does not.
func isStatus(err error, code int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if rest.IsStatusError(err, code) {
			return true
		}
	}
	return false
}

// logout ends both sessions. The context bounds it.
func (s *session) logout(ctx context.Context) error {
	var errs []error
	if s.rest != nil {
		if err := s.rest.Logout(ctx); err != nil && !isStatus(err, http.StatusUnauthorized) {
			errs = append(errs, err)
		}
	}
	if err := vim.NewManager(s.vim).Logout(ctx); err != nil && !lost(err) {
		errs = append(errs, err)
	}
	s.soap.CloseIdleConnections()
	return errors.Join(errs...)
}
