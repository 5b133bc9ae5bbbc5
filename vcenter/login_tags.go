package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
)

// A tagLoginError says that there is no session of the tagging API to read tags with,
// while the SOAP session may be well: only the tags are unknown.
type tagLoginError struct{ error }

func (e *tagLoginError) Unwrap() error { return e.error }

// entered is the end of a login to the tagging API.
type entered struct {
	rest *rest.Client
	err  error
}

// withREST calls f with the session's REST client, after logging in where that
// has not happened yet or the server has forgotten it. It belongs to the
// goroutine that reads tags; f bounds its own calls.
func (s *session) withREST(ctx context.Context, f func(*rest.Client) error) error {
	fresh := s.rest == nil
	if fresh {
		if err := s.loginREST(ctx); err != nil {
			return err
		}
	}
	err := f(s.rest)
	if !isStatus(err, http.StatusUnauthorized) {
		return err
	}
	unknown := s.rest
	s.rest = nil
	if s.shared() {
		return fmt.Errorf("the tagging API of %s does not know the session that was cloned, as a vCenter before 8.0 U3 does not: %w", s.soap.URL().Host, err)
	}
	if fresh {
		// It may be there all the same, and the next reading opens another one.
		_ = withDeadline(ctx, s.calls.timeout, func(ctx context.Context) error { return unknown.Logout(ctx) })
		return err
	}
	return s.withREST(ctx, f)
}

// loginREST opens the REST session, with the same credentials. A login that takes
// longer than other calls goes on beside what the caller does; the next call waits
// for it again.
func (s *session) loginREST(ctx context.Context) error {
	host := s.soap.URL().Host
	if s.shared() {
		id := s.soap.SessionCookie()
		if id == nil {
			return fmt.Errorf("logging in to the tagging API of %s: %w", host, errors.New("the session that was cloned has no cookie"))
		}
		s.rest = rest.NewClient(s.vim)
		s.rest.SessionID(id.Value)
		return nil
	}
	if s.entering == nil {
		if err := s.calls.attempts.begin(loginTags, s.creds, time.Now()); err != nil {
			if errors.As(err, new(errFailures)) {
				err = fmt.Errorf("logging in to the tagging API of %s: %w", host, err)
			}
			return &tagLoginError{err}
		}
		ended := make(chan entered, 1) // sent to once, by the login; received once, by the caller or joinREST
		s.entering = ended
		go func() { ended <- s.enterREST(ctx) }()
	}
	patience := time.NewTimer(s.calls.timeout)
	defer patience.Stop()
	select {
	case e := <-s.entering:
		s.entering, s.rest = nil, e.rest
		return e.err
	case <-patience.C:
		return &tagLoginError{fmt.Errorf("logging in to the tagging API of %s: no answer within %v; waiting for up to %v", host, s.calls.timeout, s.calls.loginTimeout)}
	}
}

// enterREST logs in to the tagging API and ends the attempt that has begun.
func (s *session) enterREST(ctx context.Context) entered {
	c := rest.NewClient(s.vim)
	err := s.openREST(ctx, c)
	if err != nil {
		err = fmt.Errorf("logging in to the tagging API of %s: %w", s.soap.URL().Host, err)
	}
	err = s.calls.attempts.end(loginTags, s.creds, err, time.Now())
	s.calls.observer.LoggedIn(s.calls.vcenter, err)
	if err == nil {
		return entered{rest: c}
	}
	if !nextAttempt(err).IsZero() {
		err = &tagLoginError{err}
	}
	return entered{err: err}
}

func (s *session) openREST(ctx context.Context, c *rest.Client) error {
	enter := func(ctx context.Context) error { return c.Login(ctx, s.userinfo()) }
	rejected := tagsPasswordRejected
	if s.creds.Certificate != "" {
		signer, err := s.token(ctx)
		if err != nil {
			return err
		}
		enter = func(ctx context.Context) error { return c.LoginByToken(c.WithSigner(ctx, signer)) }
		rejected = tagsCertificateRejected
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := outliving(ctx)
	defer cancel()
	err := s.calls.login(ctx, "tagging: log in", enter)
	if isStatus(err, http.StatusUnauthorized) {
		return rejected
	}
	return brief(err)
}

// joinREST waits for a login to the tagging API that is under way. Its context is
// done, so that is at most loginGrace.
func (s *session) joinREST() {
	if s.entering == nil {
		return
	}
	e := <-s.entering
	s.entering, s.rest = nil, e.rest
}
