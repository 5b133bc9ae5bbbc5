package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// These are the monitor's own reasons to restart a watch.
const (
	configurationChanged watch.Restart = "the configuration has changed"
	credentialsReplaced  watch.Restart = "logged in with the changed credentials"
)

func (m *monitor) ensureSession(ctx context.Context) (*session.Session, error) {
	if m.current.session != nil {
		return m.current.session, nil
	}
	creds, err := m.readCredentials(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.throttle.Offer(creds, Credentials{}, time.Now()); err != nil {
		return nil, err
	}
	s, err := m.logIn(ctx, creds, func(server string) {
		m.fail(ctx, &SlowLoginError{fmt.Sprintf("logging in to %s as %s: no answer within %v; waiting for up to %v", server, creds, m.opts.Timeout, m.opts.LoginTimeout)})
	})
	m.current.session = s
	m.loggedInSinceFailure = err == nil
	m.publish(false)
	m.credentialsOutage = faults.Outage{}
	return s, err
}

// A SlowLoginError reports a login that may still succeed.
type SlowLoginError struct{ text string }

func (e *SlowLoginError) Error() string { return e.text }

func (m *monitor) credentialsDiffer(ctx context.Context) bool {
	creds, err := m.readCredentials(ctx)
	if err != nil {
		return errors.Is(err, configurationChanged)
	}
	return !m.throttle.Offered(creds)
}

// readCredentials fails with configurationChanged after a change of address or trust: the old and the
// new vCenter must not receive each other's credentials.
func (m *monitor) readCredentials(ctx context.Context) (creds Credentials, err error) {
	m.checkCredentials = false
	cfg := &m.wanted.cfg
	if m.cfg.Diff(cfg).Has(config.EffectAddress | config.EffectTrust) {
		return Credentials{}, configurationChanged
	}
	m.await(ctx, func() {
		err = session.WithDeadline(ctx, m.opts.Timeout, func(ctx context.Context) (err error) {
			creds, err = m.credentials(ctx, cfg)
			return err
		})
	})
	if err != nil {
		err = &credentialsError{err}
	}
	m.publishCredentialsErr(ctx, err)
	return creds, err
}

func (m *monitor) publishCredentialsErr(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("vCenter %q: %w", m.name, faults.Printable{Err: err})
	}
	if err == nil && m.current.credentialsErr == nil {
		return
	}
	m.current.credentialsErr = err
	m.publish(false)
}

type credentialsError struct{ err error }

func (e *credentialsError) Error() string          { return "credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error          { return e.err }
func (e *credentialsError) Cause() inventory.Cause { return inventory.CauseCredentials }

// logIn calls slow, which may be nil, if the login takes longer than other calls. It may return a
// session together with configurationChanged.
func (m *monitor) logIn(ctx context.Context, creds Credentials, slow func(server string)) (s *session.Session, err error) {
	endpoint := m.current.endpoint
	loginCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, wait := faults.Go(func() { s, err = session.Open(loginCtx, endpoint, creds) })
	// If a request before the login is unanswered, session.Open fails at the timeout, before slow.
	slowTimer := time.NewTimer(m.opts.Timeout * 11 / 10)
	defer slowTimer.Stop()
	w := awaited{task: done, timer: slowTimer.C, restart: true}
	for waiting := true; waiting; {
		switch m.next(ctx, w) {
		case taskDone:
			waiting = false
		case timerFired:
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
		err = configurationChanged
	}
	return s, err
}

func (m *monitor) replaceSession(ctx context.Context, fresh *session.Session) {
	old := m.current.session
	m.current.session = fresh
	m.interrupt()
	if lasted, ended := m.credentialsOutage.End(); ended {
		klog.FromContext(ctx).Info("The changed credentials are accepted", "after", lasted.Round(time.Second))
	}
	m.closeSession(ctx, old)
}

func (m *monitor) logout(ctx context.Context) {
	if old := m.current.session; old != nil {
		m.current.session = nil
		m.publish(false)
		m.closeSession(ctx, old)
	}
}

const logoutTimeout = 3 * time.Second

// closeSession has its own deadline, because ctx may be done.
func (m *monitor) closeSession(ctx context.Context, s *session.Session) {
	var err error
	m.await(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
		defer cancel()
		err = s.Close(ctx)
	})
	if err != nil {
		klog.FromContext(ctx).Error(faults.Printable{Err: err}, "Cannot log out; the session ends after its idle timeout")
	}
}
