package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/credentials"
	"vzones/vcenter/panics"
	"vzones/vcenter/tags"
)

// A TagLoginError says that there is no session of the tagging API to read tags with,
// while the SOAP session may be well: only the tags are unknown.
type TagLoginError struct{ error }

func (e *TagLoginError) Unwrap() error { return e.error }

// Tagging is the session of the tagging API that belongs to a SOAP session. It belongs to
// one goroutine.
type Tagging struct {
	endpoint *Endpoint
	soap     *soap.Client
	creds    credentials.Credentials
	tokens   *tokenService

	// client is logged in, nil until then; login is the login that is under way.
	client *tags.Client
	login  *tagLogin
}

// A tagLogin is a login to the tagging API, beside the goroutine that wants it. The client is
// logged in if err is nil, when wait has returned.
type tagLogin struct {
	client *tags.Client
	err    error
	ended  <-chan struct{}
	wait   func()
}

var _ tags.Session = (*Tagging)(nil)

// Credentials returns those of the SOAP session.
func (t *Tagging) Credentials() credentials.Credentials { return t.creds }

// With calls f with the tagging API, after logging in where that has not happened yet or the
// server has forgotten it. A login that takes longer than other calls goes on in the
// background, and the next call waits for it again.
func (t *Tagging) With(ctx context.Context, f func(tags.Service) error) error {
	fresh := t.client == nil
	if fresh {
		if err := t.logIn(ctx); err != nil {
			return err
		}
	}
	err := f(taggingCalls{t.client, t.endpoint})
	if !tags.HasStatus(err, http.StatusUnauthorized) {
		return err
	}
	unknown := t.client
	t.client = nil
	if isShared(t.creds) {
		return fmt.Errorf("the tagging API of %s does not know the session that was cloned, as a vCenter before 8.0 U3 does not: %w", t.soap.URL().Host, err)
	}
	if fresh {
		// It may be there all the same, and the next reading opens another one.
		_ = WithDeadline(ctx, t.endpoint.timeout, func(ctx context.Context) error { return unknown.Logout(ctx) })
		return err
	}
	return t.With(ctx, f)
}

// logIn opens the session, with the credentials of the SOAP session.
func (t *Tagging) logIn(ctx context.Context) error {
	host := t.soap.URL().Host
	if isShared(t.creds) {
		id := t.soap.SessionCookie()
		if id == nil {
			return fmt.Errorf("logging in to the tagging API of %s: %w", host, errors.New("the session that was cloned has no cookie"))
		}
		t.client = tags.NewClient(t.soap)
		t.client.Join(id.Value)
		return nil
	}
	if t.login == nil {
		attempt := login{loginTags, host, t.creds}
		if err := t.endpoint.throttle.begin(attempt, time.Now()); err != nil {
			if errors.As(err, new(lockoutError)) {
				err = fmt.Errorf("logging in to the tagging API of %s: %w", host, err)
			}
			return &TagLoginError{err}
		}
		t.login = t.start(ctx, attempt)
	}
	limit := time.NewTimer(t.endpoint.timeout)
	defer limit.Stop()
	select {
	case <-t.login.ended:
		return t.Wait()
	case <-limit.C:
		return &TagLoginError{fmt.Errorf("logging in to the tagging API of %s: no answer within %v; waiting for up to %v", host, t.endpoint.timeout, t.endpoint.loginTimeout)}
	}
}

// start begins to log in, and ends the attempt in the end.
func (t *Tagging) start(ctx context.Context, attempt login) *tagLogin {
	l := &tagLogin{client: tags.NewClient(t.soap)}
	l.ended, l.wait = panics.Go(func() {
		l.err = errUnusable
		defer func() {
			l.err = t.endpoint.throttle.end(attempt, l.err, time.Now())
			t.endpoint.observer.LoggedIn(t.endpoint.name, l.err)
			if !NextAttempt(l.err).IsZero() {
				l.err = &TagLoginError{l.err}
			}
		}()
		if l.err = t.open(ctx, l.client); l.err != nil {
			l.err = fmt.Errorf("logging in to the tagging API of %s: %w", t.soap.URL().Host, l.err)
		}
	})
	return l
}

func (t *Tagging) open(ctx context.Context, c *tags.Client) error {
	var who tags.Authenticator = tags.ByPassword(userinfo(t.creds))
	rejected := tagsPasswordRejected
	if t.creds.Certificate != "" {
		signer, err := t.tokens.issue(ctx)
		if err != nil {
			return err
		}
		who = signer
		rejected = tagsCertificateRejected
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	err := t.endpoint.openSession(ctx, "tagging: log in", func(ctx context.Context) error { return c.Login(ctx, who) })
	if tags.HasStatus(err, http.StatusUnauthorized) {
		return rejected
	}
	return withoutRequest(err)
}

// Wait waits for a login that is under way, if there is one: at most a second where
// its context is done.
func (t *Tagging) Wait() error {
	l := t.login
	if l == nil {
		return nil
	}
	t.login = nil
	l.wait()
	if l.err == nil {
		t.client = l.client
	}
	return l.err
}

// close ends the session. One that was cloned ends with the SOAP session.
func (t *Tagging) close(ctx context.Context) error {
	if t.client == nil || isShared(t.creds) {
		return nil
	}
	err := t.client.Logout(ctx)
	if tags.HasStatus(err, http.StatusUnauthorized) {
		return nil
	}
	return err
}
