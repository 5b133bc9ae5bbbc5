package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"vzones/vcenter/tags"
)

// A tagLoginError says that there is no session of the tagging API to read tags with,
// while the SOAP session may be well: only the tags are unknown.
type tagLoginError struct{ error }

func (e *tagLoginError) Unwrap() error { return e.error }

// entering is a login to the tagging API, beside the goroutine that wants it. Rest is
// logged in if err is nil, when wait has returned.
type entering struct {
	rest  *tags.Client
	err   error
	ended <-chan struct{}
	wait  func()
}

// withTags calls f with the session's tagging API, after logging in where that
// has not happened yet or the server has forgotten it. It belongs to the
// goroutine that reads tags.
func (s *session) withTags(ctx context.Context, f func(tags.Service) error) error {
	fresh := s.rest == nil
	if fresh {
		if err := s.loginREST(ctx); err != nil {
			return err
		}
	}
	err := f(taggingCalls{s.rest, s.calls})
	if !tags.HasStatus(err, http.StatusUnauthorized) {
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
	return s.withTags(ctx, f)
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
		s.rest = tags.NewClient(s.soap)
		s.rest.Join(id.Value)
		return nil
	}
	if s.entering == nil {
		err := s.calls.attempts.begin(loginTags, s.creds, time.Now())
		if err == nil {
			if err = s.calls.lockouts.begin(s.account(), time.Now()); err != nil {
				err = s.calls.attempts.end(loginTags, s.creds, err, time.Now())
			}
		}
		if err != nil {
			if errors.As(err, new(errFailures)) {
				err = fmt.Errorf("logging in to the tagging API of %s: %w", host, err)
			}
			return &tagLoginError{err}
		}
		s.entering = s.enterREST(ctx)
	}
	patience := time.NewTimer(s.calls.timeout)
	defer patience.Stop()
	select {
	case <-s.entering.ended:
		return s.joinREST()
	case <-patience.C:
		return &tagLoginError{fmt.Errorf("logging in to the tagging API of %s: no answer within %v; waiting for up to %v", host, s.calls.timeout, s.calls.loginTimeout)}
	}
}

// enterREST begins to log in to the tagging API, and ends the attempt in the end.
func (s *session) enterREST(ctx context.Context) *entering {
	e := &entering{rest: tags.NewClient(s.soap)}
	e.ended, e.wait = aside(func() {
		e.err = errUnusable
		defer func() {
			s.calls.lockouts.end(s.account(), e.err, time.Now())
			e.err = s.calls.attempts.end(loginTags, s.creds, e.err, time.Now())
			s.calls.observer.LoggedIn(s.calls.vcenter, e.err)
			if !nextAttempt(e.err).IsZero() {
				e.err = &tagLoginError{e.err}
			}
		}()
		if e.err = s.openREST(ctx, e.rest); e.err != nil {
			e.err = fmt.Errorf("logging in to the tagging API of %s: %w", s.soap.URL().Host, e.err)
		}
	})
	return e
}

func (s *session) openREST(ctx context.Context, c *tags.Client) error {
	var who tags.Authenticator = tags.ByPassword(s.userinfo())
	rejected := tagsPasswordRejected
	if s.creds.Certificate != "" {
		signer, err := s.token(ctx)
		if err != nil {
			return err
		}
		who = signer
		rejected = tagsCertificateRejected
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := outliving(ctx)
	defer cancel()
	err := s.calls.login(ctx, "tagging: log in", func(ctx context.Context) error { return c.Login(ctx, who) })
	if tags.HasStatus(err, http.StatusUnauthorized) {
		return rejected
	}
	return brief(err)
}

// joinREST waits for a login to the tagging API, if one is under way. That is at most
// loginGrace where its context is done.
func (s *session) joinREST() error {
	e := s.entering
	if e == nil {
		return nil
	}
	s.entering = nil
	e.wait()
	if e.err == nil {
		s.rest = e.rest
	}
	return e.err
}
