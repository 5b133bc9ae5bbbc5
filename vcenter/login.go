package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/credentials"
)

// loginGrace is how long a login that is under way is waited for when the context is
// done: what it opens is to be closed.
const loginGrace = time.Second

// outliving returns a context that is done loginGrace after another. A login that
// succeeds meanwhile is the caller's to end.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(loginGrace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// login opens a SOAP session.
func login(ctx context.Context, cfg *config.VCenter, creds Credentials, calls *calls) (*session, error) {
	accept, err := newTrust(cfg)
	if err != nil {
		return nil, err
	}
	accept.ends = calls.certificateEnds
	sc := newSOAPClient(cfg, accept, calls.timeout)
	host := sc.URL().Host
	if creds.IsEmpty() {
		return nil, fmt.Errorf("logging in to %s: %w", host, credentials.ErrNone)
	}
	s := &session{soap: sc, trust: accept, creds: creds, calls: calls}
	err = calls.do(ctx, "RetrieveServiceContent", func(ctx context.Context) (err error) {
		s.vim, err = vim25.NewClient(ctx, sc)
		return err
	})
	if ctx.Err() != nil {
		// The error would be the reason for which the context is done, such as that
		// the tagging API rejects other credentials than these.
		sc.CloseIdleConnections()
		return nil, ctx.Err()
	}
	if err != nil {
		sc.CloseIdleConnections()
		return nil, fmt.Errorf("connecting to %s: %w", host, brief(err))
	}
	if err := s.attempt(ctx); err != nil {
		sc.CloseIdleConnections()
		return nil, err
	}
	s.vim.RoundTripper = calls.roundTripper(sc)
	return s, nil
}

// attempt opens the SOAP session if its credentials may be shown now.
func (s *session) attempt(ctx context.Context) (err error) {
	attempts := s.calls.attempts
	if err := attempts.begin(loginSOAP, s.creds, time.Now()); err != nil {
		return err
	}
	if err := s.calls.lockouts.begin(s.account(), time.Now()); err != nil {
		return attempts.end(loginSOAP, s.creds, err, time.Now())
	}
	err = errUnusable
	defer func() {
		s.calls.lockouts.end(s.account(), err, time.Now())
		err = attempts.end(loginSOAP, s.creds, err, time.Now())
	}()
	s.vim.RoundTripper = s.calls.logins(s.soap)
	longer, cancel := outliving(ctx)
	defer cancel()
	if err = s.open(longer); err != nil {
		err = fmt.Errorf("logging in to %s as %s: %w", s.soap.URL().Host, s.creds, brief(err))
	}
	return err
}

// open opens the SOAP session in the way that the credentials are for.
func (s *session) open(ctx context.Context) error {
	switch {
	case s.shared():
		return s.openClone(ctx)
	case s.creds.Certificate != "":
		return refused(s.openByToken(ctx), certificateRejected)
	default:
		return refused(vim.NewManager(s.vim).Login(ctx, s.userinfo()), passwordRejected)
	}
}

func (s *session) userinfo() *url.Userinfo {
	return url.UserPassword(s.creds.User, s.creds.Password.Reveal())
}

// brief leaves out of an error that a certificate is not trusted what was asked
// for, which does not matter then.
func brief(err error) error {
	var untrusted *UntrustedError
	if errors.As(err, &untrusted) {
		return untrusted
	}
	return err
}

// openByToken opens a SOAP session with a SAML token that only the holder of the
// certificate's key can use.
func (s *session) openByToken(ctx context.Context) error {
	if err := s.findTokens(ctx); err != nil {
		return err
	}
	signer, err := s.token(ctx)
	if err != nil {
		return err
	}
	ctx = s.vim.WithHeader(ctx, soap.Header{Security: signer})
	return vim.NewManager(s.vim).LoginByToken(ctx)
}
