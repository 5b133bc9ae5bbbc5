package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// Open makes one login attempt. If ctx ends, Open waits up to a second for the session, so that the caller can close it.
func Open(ctx context.Context, e *Endpoint, creds credentials.Credentials) (*Session, error) {
	s, err := open(ctx, e, creds)
	if !notAttempted(err) {
		e.observer.LoggedIn(e.name, err)
	}
	return s, err
}

func open(ctx context.Context, e *Endpoint, creds credentials.Credentials) (*Session, error) {
	cfg := e.cfg.Load()
	tr, err := newTrust(cfg)
	if err != nil {
		return nil, err
	}
	tr.expiry = &e.certificateExpiry
	sc := newSOAPClient(cfg, tr, e.timeout)
	host := sc.URL().Host
	if creds.IsEmpty() {
		return nil, fmt.Errorf("logging in to %s: %w", host, credentials.ErrNone)
	}
	s := &Session{soap: sc, trust: tr, creds: creds, endpoint: e, tokens: &tokenService{endpoint: e, creds: creds}}
	err = e.Do(ctx, "RetrieveServiceContent", func(ctx context.Context) (err error) {
		s.vim, err = vim25.NewClient(ctx, sc)
		return err
	})
	if ctx.Err() != nil {
		// The call may have returned context.Cause instead.
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

func (s *Session) logIn(ctx context.Context) (err error) {
	throttle := s.endpoint.throttle
	attempt := login{loginSOAP, s.soap.URL().Host, s.creds}
	if err := throttle.beginQueued(ctx, attempt, s.endpoint.loginTimeout); err != nil {
		return err
	}
	err = errUnusable
	defer func() { err = throttle.end(attempt, err, time.Now()) }()
	s.vim.RoundTripper = s.endpoint.loginRoundTripper(s.soap)
	graceCtx, cancel := withGrace(ctx)
	defer cancel()
	if err = s.openSOAP(graceCtx); err != nil {
		source := ""
		if s.creds.Source != "" {
			source = ", with the credentials of " + s.creds.Source
		}
		err = fmt.Errorf("logging in to %s as %s%s: %w", s.soap.URL().Host, s.creds, source, withoutRequest(err))
	}
	return err
}

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

func (s *Session) openByToken(ctx context.Context) error {
	if err := s.tokens.find(ctx, s.vim.ServiceContent, s.soap); err != nil {
		return err
	}
	signer, err := s.tokens.issue(ctx)
	if err != nil {
		return err
	}
	header := soap.Header{Security: signer}
	// vCenter rejects LoginByToken if its SOAP action names an API version that the vCenter does not list.
	if version, err := s.apiVersion(ctx); err == nil {
		header.Action = "urn:" + vim25.Namespace + "/" + version
	}
	ctx = s.vim.WithHeader(ctx, header)
	return vim.NewManager(s.vim).LoginByToken(ctx)
}

// loginRoundTripper never repeats a request, because the first may have left a session behind.
func (e *Endpoint) loginRoundTripper(next soap.RoundTripper) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) error {
		return e.openSession(ctx, method(req), func(ctx context.Context) error { return next.RoundTrip(ctx, req, res) })
	})
}

// openSession returns an *unansweredError if the outcome is unknown.
func (e *Endpoint) openSession(ctx context.Context, name string, call func(context.Context) error) error {
	began := time.Now()
	sent, err := e.sendCredentials(ctx, name, call)
	if err == nil || !sent || isFinalAnswer(err) {
		return err
	}
	return &unansweredError{err, errors.Is(err, context.DeadlineExceeded) || time.Since(began) >= e.timeout}
}

// exchangeCredentials opens no session in the vCenter.
func (e *Endpoint) exchangeCredentials(ctx context.Context, name string, call func(context.Context) error) error {
	sent, err := e.sendCredentials(ctx, name, call)
	if sent && errors.Is(err, context.DeadlineExceeded) {
		return &unansweredError{err, true}
	}
	return err
}

func (e *Endpoint) sendCredentials(ctx context.Context, name string, call func(context.Context) error) (bool, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	err := e.doWithin(ctx, name, e.loginTimeout, call)
	return sent.Load(), err
}

// isFinalAnswer reports whether an error is the server's own answer, and not a gateway's. A final answer also
// means that no REST session was created.
func isFinalAnswer(err error) bool {
	if slices.Contains([]rest.Class{rest.NoSuchPath, rest.NotFound, rest.Busy}, rest.ClassOf(err)) {
		return !rest.HasStatus(err, http.StatusGatewayTimeout)
	}
	var fault interface{ Fault() types.BaseMethodFault }
	var rejected faults.RejectedAnswer
	status := statusOf(err)
	return errors.As(err, &fault) || errors.As(err, &rejected) && rejected != LargeAnswer && rejected != deepAnswer || status != 0 && status != http.StatusBadGateway && status != http.StatusGatewayTimeout
}

// statusOf returns the HTTP status in a govmomi error, whose types are not exported, or 0.
func statusOf(err error) int {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	if err == nil {
		return 0
	}
	code, text, _ := strings.Cut(err.Error(), " ")
	status, _ := strconv.Atoi(code)
	if status >= http.StatusBadRequest && status < 600 && strings.HasPrefix(text, http.StatusText(status)) {
		return status
	}
	return 0
}

const loginGrace = time.Second

// withGrace returns a context that outlives ctx by loginGrace, so that a new session can be closed.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	graceCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(loginGrace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-graceCtx.Done():
		}
	})
	return graceCtx, func() { stop(); cancel() }
}
