package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

// rejectedMax bounds how many rejected credentials are remembered.
const rejectedMax = 10

var (
	// errRenewed ends a watch whose session has been replaced.
	errRenewed = fmt.Errorf("%w: logged in with the changed credentials", errAgain)
	// errOthers ends a watch whose credentials are rejected while there are others.
	errOthers = fmt.Errorf("%w: the credentials are others now", errAgain)
)

func (c *connection) ensureSession(ctx context.Context) (*session, error) {
	if s := c.session.Load(); s != nil {
		return s, nil
	}
	before := c.read
	creds, err := c.readCredentials(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.rejection(creds); err != nil && creds.Equal(before) {
		return nil, fmt.Errorf(untilTheyChange, err)
	}
	s, err := c.login(ctx, creds)
	if errors.Is(err, ErrRejected) {
		return nil, fmt.Errorf(untilTheyChange, err)
	}
	if err != nil {
		return nil, err
	}
	c.session.Store(s)
	return s, nil
}

const untilTheyChange = "%w; these credentials are not tried again until they change"

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
	err = withDeadline(ctx, c.opts.timeout, func(ctx context.Context) (err error) {
		creds, err = c.credentials(ctx, cfg)
		return err
	})
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials: %w", err)
	}
	c.read = creds
	return creds, nil
}

// login logs in, once, and remembers credentials that are rejected.
func (c *connection) login(ctx context.Context, creds Credentials) (*session, error) {
	s, err := login(ctx, c.cfg, creds, c.calls)
	c.opts.observer.LoggedIn(c.name, err)
	switch {
	case errors.Is(err, ErrRejected):
		c.reject(creds, err)
		return nil, err
	case err != nil:
		return nil, err
	}
	c.rejected = nil
	klog.FromContext(ctx).Info("Logged in", "server", s.soap.URL().Host, "version", s.vim.ServiceContent.About.Version)
	return s, nil
}

// refusal is credentials that were rejected, and the error that said so.
type refusal struct {
	creds Credentials
	err   error
}

func (c *connection) reject(creds Credentials, err error) {
	if c.rejection(creds) != nil {
		return
	}
	c.rejected = append(c.rejected, refusal{creds, err})
	c.rejected = c.rejected[max(0, len(c.rejected)-rejectedMax):]
}

// rejection returns the error with which credentials were rejected, nil if they
// were not.
func (c *connection) rejection(creds Credentials) error {
	for _, r := range c.rejected {
		if r.creds.Equal(creds) {
			return r.err
		}
	}
	return nil
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
		if err == nil && creds.Equal(w.s.creds) {
			w.c.rejected = nil // what comes after these is a change, whatever it is
			continue
		}
		if err == nil && w.c.rejection(creds) != nil {
			continue
		}
		if err == nil {
			w.c.fresh, err = w.c.login(ctx, creds)
		}
		switch {
		case err == nil:
			return errRenewed
		case errors.Is(err, errReconfigured):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, ErrRejected):
			again.Reset(w.c.opts.retryMax)
		}
		if said != err.Error() {
			said = err.Error()
			klog.FromContext(ctx).Error(err, "Cannot use the changed credentials; the session that was opened with those before lives on")
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
func (c *connection) end(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.logoutTimeout)
	defer cancel()
	if err := s.logout(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot log out; the session ends when it has been idle for long enough")
	}
}
