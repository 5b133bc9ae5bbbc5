package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/panics"
	"vzones/vcenter/session"
)

// errRenewed ends a watch whose session has been replaced.
var errRenewed = fmt.Errorf("%w: logged in with the changed credentials", errAgain)

func (c *connection) ensureSession(ctx context.Context) (*reader, error) {
	if s := c.session.Load(); s != nil {
		return s, nil
	}
	before := c.read
	creds, err := c.readCredentials(ctx)
	if err != nil {
		return nil, err
	}
	if !creds.Equal(before) {
		c.throttle.Replaced(creds)
	}
	if err := c.throttle.Check(creds, time.Now()); err != nil {
		return nil, err
	}
	s, err := c.login(ctx, creds, func(server string) {
		c.report(ctx, fmt.Errorf("logging in to %s as %s: no answer within %v; waiting for up to %v", server, creds, c.opts.timeout, c.opts.loginTimeout))
	})
	c.session.Store(s)
	return s, err
}

// others says whether there are other credentials than were read last, or whether
// the vCenter is to be followed in another way. It leaves them to be read again.
func (c *connection) others(ctx context.Context) bool {
	before := c.read
	creds, err := c.readCredentials(ctx)
	c.read = before
	if err != nil {
		return errors.Is(err, errReconfigured)
	}
	return !creds.Equal(before)
}

// readCredentials returns the credentials as they are configured now. If that is for
// another vCenter than run follows, or for one that is trusted otherwise, the error
// is errReconfigured: neither of the two may be shown the other's.
func (c *connection) readCredentials(ctx context.Context) (creds Credentials, err error) {
	select {
	case <-c.renewed: // this is the answer to it
	default:
	}
	cfg := &c.target.Load().cfg
	if !sameAddress(cfg, c.cfg) || !sameTrust(cfg, c.cfg) {
		return Credentials{}, errReconfigured
	}
	err = session.WithDeadline(ctx, c.opts.timeout, func(ctx context.Context) (err error) {
		creds, err = c.credentials(ctx, cfg)
		return err
	})
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials: %w", err)
	}
	c.read = creds
	return creds, nil
}

// login logs in, once. Slow is called, if it is not nil, when that takes longer than
// other calls may. A change of the configuration ends it with errReconfigured, beside
// which there may be a session.
func (c *connection) login(ctx context.Context, creds Credentials, slow func(server string)) (*reader, error) {
	endpoint := c.endpoint.Load()
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	var opened *session.Session
	var err error
	ended, wait := panics.Go(func() { opened, err = session.Open(own, endpoint, creds) })
	// What comes before the login has a deadline of its own.
	patience := time.NewTimer(c.opts.timeout * 11 / 10)
	defer patience.Stop()
	reconfigured := false
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-patience.C:
			if slow != nil {
				slow(endpoint.Host())
			}
		case <-c.again:
			reconfigured = true
			cancel()
		}
	}
	wait()
	var s *reader
	if err == nil {
		s = newReader(opened)
		klog.FromContext(ctx).Info("Logged in", "server", s.Host(), "version", quote.Plain(s.vim.ServiceContent.About.Version))
	}
	if reconfigured {
		err = errReconfigured
	}
	return s, err
}

// renew logs in anew when the credentials have changed, while the session lives
// on. Then it ends the watch, for the fresh session to take its place. Changed
// credentials that do not serve leave the session as it is. The watch before may have
// ended with a change still to be followed, so it looks at once.
func (w *watch) renew(ctx context.Context) error {
	again := time.NewTimer(0)
	said := ""
	for {
		select {
		case <-w.c.again:
			return errReconfigured
		case <-w.c.renewed:
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		creds, err := w.c.readCredentials(ctx)
		if err == nil && creds.Equal(w.s.Credentials()) {
			w.c.throttle.Restored(creds)
			if said != "" {
				said = ""
				klog.FromContext(ctx).Info("The credentials are again those of the session, which goes on")
			}
			continue
		}
		if err == nil {
			err = w.c.throttle.Check(creds, time.Now())
		}
		if err == nil {
			w.c.fresh, err = w.c.login(ctx, creds, nil)
		}
		switch {
		case err == nil:
			return errRenewed
		case errors.Is(err, errReconfigured):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		next := session.NextAttempt(err)
		again.Reset(max(w.c.opts.retryMax, time.Until(next)))
		if said != err.Error() {
			said = err.Error()
			log := klog.FromContext(ctx)
			if !next.IsZero() {
				log = log.WithValues("nextLoginIn", time.Until(next).Round(time.Second))
			}
			log.Error(faults.Printable{Err: err}, "Cannot use the changed credentials; the session that was opened with those before lives on")
		}
	}
}

// replaceSession puts the fresh session in the place of the one before.
func (c *connection) replaceSession(ctx context.Context) {
	old := c.session.Swap(c.fresh)
	c.fresh = nil
	c.end(ctx, old)
}

// logout ends the session, if there is one.
func (c *connection) logout(ctx context.Context) {
	if s := c.session.Swap(nil); s != nil {
		c.end(ctx, s)
	}
}

// end ends a session. The context may be done, so it gets a bounded one of its own.
func (c *connection) end(ctx context.Context, s *reader) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.logoutTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot log out; the session ends when it has been idle for long enough")
	}
}
