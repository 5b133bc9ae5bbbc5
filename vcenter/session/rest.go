package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// A RESTLoginError means that there is no REST session. The SOAP session may be healthy.
type RESTLoginError struct{ error }

func (e *RESTLoginError) Unwrap() error { return e.error }

// A REST is the REST session with the credentials of a SOAP session. It belongs to one goroutine. Its phases are:
//
//	phase    state                               next     event
//	none     no client and no pending login      opening  With, if the throttle permits it
//	                                             open     With, if the session was cloned
//	opening  a login is pending; With waits      open     the login succeeds
//	         as long as for another call, with   none     it fails
//	         LoginLimits.Queue to its end
//	open     With calls with the client          none     With replaces the session
type REST struct {
	endpoint *Endpoint
	soap     *soap.Client
	creds    credentials.Credentials
	tokens   *tokenService
	isESXi   bool

	client *rest.Client
	login  *restLogin
	// hasSucceeded reports whether With has succeeded since the login.
	hasSucceeded bool
}

// A restLogin is a pending login. Once wait returns, client is logged in or err is set.
type restLogin struct {
	client *rest.Client
	err    error
	ended  <-chan struct{}
	wait   func()
}

// Credentials returns the credentials of the SOAP session.
func (r *REST) Credentials() credentials.Credentials { return r.creds }

func (r *REST) isCloned() bool { return r.creds.SessionManagerURL != "" }

// With calls f with a logged-in client. If the server has forgotten the session, With logs in again and repeats f
// once. A slow login continues in the background for the next With. f must not call With.
func (r *REST) With(ctx context.Context, f func(*rest.Client) error) error {
	if r.client == nil {
		if err := r.logIn(ctx); err != nil {
			return fmt.Errorf("logging in to the tagging API of %s: %w", r.soap.URL().Host, err)
		}
	}
	err := f(r.client)
	isUnknown := rest.ClassOf(err) == rest.Unauthenticated
	switch {
	case err == nil:
		r.hasSucceeded = true
		r.endpoint.restRenewal.reset()
	case isUnknown && r.isCloned():
		return fmt.Errorf("the tagging API of %s does not accept the cloned session, which requires vCenter 8.0 U3 or later: %w", r.soap.URL().Host, err)
	case isUnknown && r.hasSucceeded, r.renewalDue(err):
		r.forget(ctx)
		return r.With(ctx, f)
	}
	return err
}

// Do makes one remote call.
func (r *REST) Do(ctx context.Context, name string, call func(context.Context) error) error {
	return r.endpoint.Do(ctx, name, call)
}

// forget logs out in any case, because the server may still have the session.
func (r *REST) forget(ctx context.Context) {
	old := r.client
	r.client = nil
	r.hasSucceeded = false
	_ = WithDeadline(ctx, r.endpoint.timeout, func(ctx context.Context) error { return old.Logout(ctx) })
}

func (r *REST) logIn(ctx context.Context) error {
	if r.isESXi {
		return &RESTLoginError{errors.New("it is an ESXi host, which has no tags: configure the vCenter that manages it")}
	}
	if r.isCloned() {
		id := r.soap.SessionCookie()
		if id == nil {
			return errors.New("the cloned session has no cookie")
		}
		r.client = rest.NewClient(r.soap)
		r.client.Join(id.Value)
		return nil
	}
	if r.login == nil {
		attempt := login{loginREST, r.soap.URL().Host, r.creds}
		if err := r.endpoint.throttle.beginQueued(ctx, attempt, r.endpoint.loginTimeout); err != nil {
			return &RESTLoginError{err}
		}
		r.login = r.start(ctx, attempt)
	}
	maxWait := r.endpoint.throttle.answerTimeout(r.endpoint.timeout, r.endpoint.loginTimeout)
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	select {
	case <-r.login.ended:
		return r.Wait()
	case <-limit.C:
		return &RESTLoginError{fmt.Errorf("no answer within %v; waiting for up to %v", maxWait, r.endpoint.loginTimeout)}
	}
}

func (r *REST) start(ctx context.Context, attempt login) *restLogin {
	l := &restLogin{client: rest.NewClient(r.soap)}
	l.ended, l.wait = faults.Go(func() {
		l.err = errUnusable
		defer func() {
			l.err = r.endpoint.throttle.end(attempt, l.err, time.Now())
			r.endpoint.observer.LoggedIn(r.endpoint.name, l.err)
			if !NextAttempt(l.err).IsZero() {
				l.err = &RESTLoginError{l.err}
			}
		}()
		l.err = r.open(ctx, l.client)
	})
	return l
}

func (r *REST) open(ctx context.Context, c *rest.Client) error {
	rejected := restPasswordRejected
	sign := func(req *http.Request) error { //nolint:unparam // the signer of a token can fail
		req.SetBasicAuth(r.creds.User, r.creds.Password.Reveal())
		return nil
	}
	if r.creds.Certificate != "" {
		signer, err := r.tokens.issue(ctx)
		if err != nil {
			return err
		}
		rejected = restCertificateRejected
		sign = signer.SignRequest
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	legacy := r.endpoint.legacyLogin.Load()
	err := r.endpoint.openSession(ctx, "tagging: log in", func(ctx context.Context) error { return c.Login(ctx, sign, legacy) })
	switch rest.ClassOf(err) {
	case rest.Unauthenticated:
		r.endpoint.legacyLogin.Store(!legacy)
		return rejected
	case rest.Failed:
		r.endpoint.legacyLogin.Store(!legacy)
	}
	return withoutRequest(err)
}

// Wait waits for a pending login, at most a second after the login's context is done.
func (r *REST) Wait() error {
	l := r.login
	if l == nil {
		return nil
	}
	r.login = nil
	l.wait()
	if l.err == nil {
		r.client = l.client
	}
	return l.err
}

// Close ends a session of NewREST, after a pending login.
func (r *REST) Close(ctx context.Context) error {
	_ = r.Wait()
	return r.close(ctx)
}

// close leaves a cloned session open, which ends with the SOAP session.
func (r *REST) close(ctx context.Context) error {
	if r.client == nil || r.isCloned() {
		return nil
	}
	err := r.client.Logout(ctx)
	if rest.ClassOf(err) == rest.Unauthenticated {
		return nil
	}
	return err
}
