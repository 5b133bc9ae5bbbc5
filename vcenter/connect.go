package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// The reasons for a restart that are not the watch's own. With otherTarget everything ends that
// does not suit the configuration any more, also a login.
const (
	otherTarget      watch.Reason = "the configuration has changed"
	otherCredentials watch.Reason = "logged in with the changed credentials"
)

func (a *actor) ensureSession(ctx context.Context) (*session.Session, error) {
	if a.now.session != nil {
		return a.now.session, nil
	}
	creds, err := a.readCredentials(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.throttle.Offer(creds, Credentials{}, time.Now()); err != nil {
		return nil, err
	}
	s, err := a.logIn(ctx, creds, func(server string) {
		a.fail(ctx, &SlowLoginError{fmt.Sprintf("logging in to %s as %s: no answer within %v; waiting for up to %v", server, creds, a.opts.timeout, a.opts.loginTimeout)})
	})
	a.now.session, a.answered = s, err == nil
	a.publish(false)
	a.unusable = faults.Outage{} // the session that others were to replace has ended
	return s, err
}

// A SlowLoginError says that a login is under way that takes longer than other calls may. It may still
// succeed.
type SlowLoginError struct{ text string }

func (e *SlowLoginError) Error() string { return e.text }

// credentialsDiffer reports whether there are other credentials than were offered last, or
// whether the vCenter is to be followed in another way.
func (a *actor) credentialsDiffer(ctx context.Context) bool {
	creds, err := a.readCredentials(ctx)
	if err != nil {
		return errors.Is(err, watch.Restart{Reason: otherTarget})
	}
	return !a.throttle.Offered(creds)
}

// readCredentials returns the credentials as they are configured now. If that is for
// another vCenter than is followed, or for one that is trusted otherwise, the error
// is a Restart for otherTarget: neither of the two may be shown the other's.
func (a *actor) readCredentials(ctx context.Context) (creds Credentials, err error) {
	a.checkCredentials = false
	cfg := &a.desired.cfg
	if d := a.cfg.Diff(cfg); d.Address || d.Trust {
		return Credentials{}, watch.Restart{Reason: otherTarget}
	}
	a.await(ctx, func() {
		err = session.WithDeadline(ctx, a.opts.timeout, func(ctx context.Context) (err error) {
			creds, err = a.credentials(ctx, cfg)
			return err
		})
	})
	if err != nil {
		err = &credentialsError{err}
	}
	a.noteCredentials(ctx, err)
	return creds, err
}

// noteCredentials publishes whether there are credentials, unless the daemon stops.
func (a *actor) noteCredentials(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("vCenter %q: %w", a.name, faults.Printable{Err: err})
	}
	if err == nil && a.now.credentialsErr == nil {
		return
	}
	a.now.credentialsErr = err
	a.publish(false)
}

// A credentialsError is that credentials cannot be read, or are not there.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// logIn logs in, once. Slow is called, if it is not nil, when that takes longer than
// other calls may. A change of the configuration ends it with a Restart, beside
// which there may be a session.
func (a *actor) logIn(ctx context.Context, creds Credentials, slow func(server string)) (s *session.Session, err error) {
	endpoint := a.now.endpoint
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	over, wait := faults.Go(func() { s, err = session.Open(own, endpoint, creds) })
	// What comes before the login has a deadline of its own.
	late := time.NewTimer(a.opts.timeout * 11 / 10)
	defer late.Stop()
	w := awaited{ended: over, timer: late.C, restart: true}
	for waiting := true; waiting; {
		switch a.next(ctx, w) {
		case ended:
			waiting = false
		case elapsed:
			if slow != nil {
				slow(endpoint.Host())
			}
		case reconfigured:
			w.restart = false
			cancel()
		}
	}
	wait()
	if err == nil {
		klog.FromContext(ctx).Info("Logged in", "server", s.Host(), "version", quote.Plain(s.Client().ServiceContent.About.Version))
	}
	if !w.restart {
		err = watch.Restart{Reason: otherTarget}
	}
	return s, err
}

// replaceSession puts a session in the place of the previous one.
func (a *actor) replaceSession(ctx context.Context, fresh *session.Session) {
	old := a.now.session
	a.now.session = fresh
	a.interrupt()
	a.logAccepted(ctx)
	a.closeSession(ctx, old)
}

// logout ends the session, if there is one.
func (a *actor) logout(ctx context.Context) {
	if old := a.now.session; old != nil {
		a.now.session = nil
		a.publish(false)
		a.closeSession(ctx, old)
	}
}

// closeSession ends a session. The context may be done, so it gets a bounded one of its own.
func (a *actor) closeSession(ctx context.Context, s *session.Session) {
	var err error
	a.await(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.logoutTimeout)
		defer cancel()
		err = s.Close(ctx)
	})
	if err != nil {
		klog.FromContext(ctx).Error(faults.Printable{Err: err}, "Cannot log out; the session ends when it has been idle for long enough")
	}
}
