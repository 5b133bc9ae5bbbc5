package session

import (
	"context"
	"fmt"
	"net/url"
	"time"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/credentials"
)

// Open logs in to a vCenter, once. NextAttempt returns when credentials that were rejected, or
// not answered to, may be shown again. A login that is under way when the
// context is done is waited for, for up to a second, so that what it opens can be closed:
// there may be a session all the same.
func Open(ctx context.Context, e *Endpoint, creds credentials.Credentials) (*Session, error) {
	s, err := open(ctx, e, creds)
	if !notAttempted(err) {
		e.observer.LoggedIn(e.name, err)
	}
	return s, err
}

func open(ctx context.Context, e *Endpoint, creds credentials.Credentials) (*Session, error) {
	cfg := e.cfg.Load()
	accept, err := newTrust(cfg)
	if err != nil {
		return nil, err
	}
	accept.ends = &e.certificateEnds
	sc := newSOAPClient(cfg, accept, e.timeout)
	host := sc.URL().Host
	if creds.IsEmpty() {
		return nil, fmt.Errorf("logging in to %s: %w", host, credentials.ErrNone)
	}
	s := &Session{soap: sc, trust: accept, creds: creds, endpoint: e, tokens: &tokenService{endpoint: e, creds: creds}}
	err = e.Do(ctx, "RetrieveServiceContent", func(ctx context.Context) (err error) {
		s.vim, err = vim25.NewClient(ctx, sc)
		return err
	})
	if ctx.Err() != nil {
		// The error would be the reason for which the context is done, such as that
		// the REST API rejects other credentials than these.
		sc.Client.CloseIdleConnections()
		return nil, ctx.Err()
	}
	if err != nil {
		sc.Client.CloseIdleConnections()
		return nil, fmt.Errorf("connecting to %s: %w", host, withoutRequest(err))
	}
	if err := s.logIn(ctx); err != nil {
		sc.Client.CloseIdleConnections()
		return nil, err
	}
	s.vim.RoundTripper = e.roundTripper(sc)
	s.rest = s.NewREST()
	return s, nil
}

// logIn opens the SOAP session if its credentials may be shown now.
func (s *Session) logIn(ctx context.Context) (err error) {
	throttle, attempt := s.endpoint.throttle, login{loginSOAP, s.soap.URL().Host, s.creds}
	if err := throttle.beginQueued(ctx, attempt, s.endpoint.loginTimeout); err != nil {
		return err
	}
	err = errUnusable
	defer func() { err = throttle.end(attempt, err, time.Now()) }()
	s.vim.RoundTripper = s.endpoint.loginRoundTripper(s.soap)
	longer, cancel := withGrace(ctx)
	defer cancel()
	if err = s.openSOAP(longer); err != nil {
		err = fmt.Errorf("logging in to %s as %s: %w", s.soap.URL().Host, s.creds, withoutRequest(err))
	}
	return err
}

// openSOAP opens the SOAP session in the way that the credentials are for.
func (s *Session) openSOAP(ctx context.Context) error {
	switch {
	case s.creds.SessionManagerURL != "":
		return s.openClone(ctx)
	case s.creds.Certificate != "":
		return asRejection(s.openByToken(ctx), certificateRejected)
	default:
		return asRejection(vim.NewManager(s.vim).Login(ctx, url.UserPassword(s.creds.User, s.creds.Password.Reveal())), passwordRejected)
	}
}

// openByToken opens a SOAP session with a SAML token that only the holder of the
// certificate's key can use.
func (s *Session) openByToken(ctx context.Context) error {
	if err := s.tokens.find(ctx, s.vim.ServiceContent, s.soap); err != nil {
		return err
	}
	signer, err := s.tokens.issue(ctx)
	if err != nil {
		return err
	}
	header := soap.Header{Security: signer}
	// A vCenter refuses LoginByToken, and no other method, if the action names a version that it does
	// not list, such as govmomi's own where the vCenter is older.
	if version, err := s.apiVersion(ctx); err == nil {
		header.Action = "urn:" + vim25.Namespace + "/" + version
	}
	ctx = s.vim.WithHeader(ctx, header)
	return vim.NewManager(s.vim).LoginByToken(ctx)
}
