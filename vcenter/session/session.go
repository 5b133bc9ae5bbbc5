package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
)

// A Session is a SOAP session and its REST session. It is safe for concurrent use, except REST, and Close, the last call.
type Session struct {
	soap     *soap.Client
	trust    *trust
	vim      *vim25.Client
	creds    credentials.Credentials
	endpoint *Endpoint
	tokens   *tokenService
	rest     *REST

	// unpaged is set once the account is denied further result pages.
	unpaged atomic.Bool

	created createdObjects
}

// FromClient returns a session without a REST API, for tests.
func FromClient(c *vim25.Client) *Session { return &Session{vim: c} }

// Client returns the SOAP client, whose calls have deadlines and are observed.
func (s *Session) Client() *vim25.Client { return s.vim }

// LongPoll returns a client whose requests have their own deadline and do not count towards Options.InFlight.
func (s *Session) LongPoll(timeout time.Duration) *vim25.Client {
	return &vim25.Client{Client: s.soap, ServiceContent: s.vim.ServiceContent, RoundTripper: s.endpoint.longPoll(s.soap, timeout)}
}

// REST returns the REST session.
func (s *Session) REST() *REST { return s.rest }

// NewREST returns another REST session, for one goroutine. The caller must close it.
func (s *Session) NewREST() *REST {
	return &REST{
		endpoint: s.endpoint, soap: s.soap, creds: s.creds, tokens: s.tokens,
		isESXi: s.vim.ServiceContent.About.ApiType == "HostAgent",
	}
}

// Credentials returns the credentials that opened the session.
func (s *Session) Credentials() credentials.Credentials { return s.creds }

// Host returns the host and port of the session.
func (s *Session) Host() string { return s.soap.URL().Host }

// IsConnectedTo reports whether the session belongs to the configured address.
func (s *Session) IsConnectedTo(cfg *config.VCenter) bool { return s.Host() == hostPort(cfg) }

// Retrust applies the endpoint's current trust to new connections. On an error the trust stays unchanged.
func (s *Session) Retrust() error {
	err := s.trust.set(s.endpoint.cfg.Load())
	s.soap.Client.CloseIdleConnections()
	return err
}

// Ping requests the vCenter's time. A denied permission is a valid answer.
func (s *Session) Ping(ctx context.Context) error {
	if _, err := methods.GetCurrentTime(ctx, s.vim); err != nil && !faults.Denied(err) {
		return err
	}
	return nil
}

// Classify returns err as a faults.SessionLostError if the vCenter does not know a tracked object.
func (s *Session) Classify(err error) error {
	if err == nil || faults.SessionLost(err) {
		return err
	}
	if notFound, ok := faults.Find[*types.ManagedObjectNotFound](err); ok && s.IsTracked(notFound.Obj) {
		return &faults.SessionLostError{Err: err}
	}
	return err
}

// Close logs out of both sessions concurrently, because either service may hang.
func (s *Session) Close(ctx context.Context) error {
	var soap, rest error
	var g sync.WaitGroup
	g.Go(func() { rest = s.rest.close(ctx) })
	if soap = vim.NewManager(s.vim).Logout(ctx); faults.SessionLost(soap) {
		soap = nil
	}
	g.Wait()
	s.soap.Client.CloseIdleConnections()
	return quote.Errors(2, soap, rest)
}
