package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/fault"
	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
)

// ErrRejected says that a vCenter does not accept the credentials. Trying them
// again would lock the account.
var ErrRejected = errors.New("the user name or password is rejected")

// session is one login: a SOAP session and, once tags are read, a REST one.
// The SOAP client may be used concurrently.
type session struct {
	soap  *soap.Client
	vim   *vim25.Client
	creds Credentials
	calls *calls

	// leftovers are objects of a watch that has ended, to be destroyed before
	// the next begins. The server destroys them with the session.
	leftovers []leftover

	// rest belongs to the goroutine that reads tags. It is nil until then.
	rest *rest.Client
}

// login opens a SOAP session.
func login(ctx context.Context, cfg *config.VCenter, creds Credentials, calls *calls) (*session, error) {
	sc, err := newSOAPClient(cfg, calls.timeout)
	if err != nil {
		return nil, err
	}
	var vc *vim25.Client
	err = calls.do(ctx, "RetrieveServiceContent", func(ctx context.Context) (err error) {
		vc, err = vim25.NewClient(ctx, sc)
		return err
	})
	if err != nil {
		sc.CloseIdleConnections()
		return nil, fmt.Errorf("connecting to %s: %w", sc.URL().Host, err)
	}
	// A login that the network broke is not repeated: the first one may have
	// left a session behind.
	vc.RoundTripper = calls.roundTripper(sc, 1)
	err = vim.NewManager(vc).Login(ctx, url.UserPassword(creds.User, creds.Password.Reveal()))
	if err != nil {
		sc.CloseIdleConnections()
		if fault.Is(err, &types.InvalidLogin{}) {
			return nil, fmt.Errorf("logging in to %s as %s: %w", sc.URL().Host, creds.User, ErrRejected)
		}
		return nil, fmt.Errorf("logging in to %s as %s: %w", sc.URL().Host, creds.User, err)
	}
	vc.RoundTripper = calls.roundTripper(sc, calls.tries)
	return &session{soap: sc, vim: vc, creds: creds, calls: calls}, nil
}

// lost says whether the server no longer knows the session.
func lost(err error) bool {
	return err != nil && fault.Is(err, &types.NotAuthenticated{})
}

// withREST calls f with the session's REST client, after logging in where that
// has not happened yet or the server has forgotten it. It belongs to the
// goroutine that reads tags; f bounds its own calls.
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
	err := s.calls.do(ctx, "tagging: log in", func(ctx context.Context) error {
		return c.Login(ctx, url.UserPassword(s.creds.User, s.creds.Password.Reveal()))
	})
	if isStatus(err, http.StatusUnauthorized) {
		err = ErrRejected
	}
	s.calls.observer.LoggedIn(s.calls.vcenter, err)
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

// answered says whether an error of the REST API is the server's own word.
func answered(err error) bool {
	if strings.Contains(err.Error(), "400 Bad Request") {
		return true
	}
	for code := http.StatusUnauthorized; code < 600; code++ {
		if isStatus(err, code) {
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
