package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/vmware/govmomi/fault"
	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/credentials"
)

// ErrRejected says that a vCenter does not accept the credentials. Trying them
// again would lock the account.
var ErrRejected = errors.New("the user name or password is rejected")

// A rejection is an ErrRejected that says what was rejected where that is no
// password.
type rejection string

func (r rejection) Error() string { return string(r) }

func (rejection) Is(target error) bool { return target == ErrRejected }

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
	sc, err := newSOAPClient(cfg, calls.timeout)
	if err != nil {
		return nil, err
	}
	host := sc.URL().Host
	if creds.IsEmpty() {
		return nil, fmt.Errorf("logging in to %s: %w", host, credentials.ErrNone)
	}
	s := &session{soap: sc, creds: creds, calls: calls}
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
	// A login that the network broke is not repeated: the first one may have
	// left a session behind.
	s.vim.RoundTripper = calls.roundTripper(sc, 1)
	ctx, cancel := outliving(ctx)
	defer cancel()
	if err := s.open(ctx, cfg); err != nil {
		sc.CloseIdleConnections()
		return nil, fmt.Errorf("logging in to %s as %s: %w", host, creds, brief(err))
	}
	s.vim.RoundTripper = calls.roundTripper(sc, calls.tries)
	return s, nil
}

// open opens the SOAP session in the way that the credentials are for.
func (s *session) open(ctx context.Context, cfg *config.VCenter) error {
	var err error
	rejected := ErrRejected
	switch {
	case s.shared():
		// A ticket is good for one time only. Another may be accepted.
		return s.openClone(ctx, cfg)
	case s.creds.Certificate != "":
		err = s.openByToken(ctx)
		rejected = rejection("the certificate is rejected")
	default:
		err = vim.NewManager(s.vim).Login(ctx, s.userinfo())
	}
	if fault.Is(err, &types.InvalidLogin{}) {
		return rejected
	}
	return err
}

func (s *session) userinfo() *url.Userinfo {
	return url.UserPassword(s.creds.User, s.creds.Password.Reveal())
}

// loginREST opens the REST session, with the same credentials.
func (s *session) loginREST(ctx context.Context) error {
	c := rest.NewClient(s.vim)
	if s.shared() {
		id := s.soap.SessionCookie()
		if id == nil {
			return errors.New("the session that was cloned has no cookie")
		}
		c.SessionID(id.Value)
		s.rest = c
		return nil
	}
	err := s.openREST(ctx, c)
	s.calls.observer.LoggedIn(s.calls.vcenter, err)
	if err == nil {
		s.rest = c
	}
	return err
}

func (s *session) openREST(ctx context.Context, c *rest.Client) error {
	enter := func(ctx context.Context) error { return c.Login(ctx, s.userinfo()) }
	rejected := ErrRejected
	if s.creds.Certificate != "" {
		signer, err := s.token(ctx)
		if err != nil {
			return err
		}
		enter = func(ctx context.Context) error { return c.LoginByToken(c.WithSigner(ctx, signer)) }
		rejected = rejection("the certificate is rejected")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := outliving(ctx)
	defer cancel()
	err := s.calls.do(ctx, "tagging: log in", enter)
	if isStatus(err, http.StatusUnauthorized) {
		return rejected
	}
	return brief(err)
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
