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

// A Session is one login: a SOAP session and, once it is needed, one of the REST API.
// Its methods may be called concurrently, but for Close, which comes last.
type Session struct {
	soap     *soap.Client
	trust    *trust
	vim      *vim25.Client
	creds    credentials.Credentials
	endpoint *Endpoint
	tokens   *tokenService
	rest     *REST

	// unpaged reports whether the account may not read further pages of properties.
	unpaged atomic.Bool

	// created are objects on the server that are to be destroyed before others take their
	// place. The server destroys them with the session.
	created createdObjects
}

// FromClient returns a session that was opened otherwise, for tests. It has no REST API.
func FromClient(c *vim25.Client) *Session { return &Session{vim: c} }

// Client returns the SOAP client, whose calls are bounded and observed.
func (s *Session) Client() *vim25.Client { return s.vim }

// LongPoll returns a client for calls that may take as long as timeout, and that count for
// none of the requests that may be in flight.
func (s *Session) LongPoll(timeout time.Duration) *vim25.Client {
	return &vim25.Client{Client: s.soap, ServiceContent: s.vim.ServiceContent, RoundTripper: s.endpoint.longPoll(s.soap, timeout)}
}

// REST returns the session of the REST API.
func (s *Session) REST() *REST { return s.rest }

// NewREST returns another session of the REST API, for another goroutine, which has to close it.
// Where the session was cloned it is the same one, which Close leaves open.
func (s *Session) NewREST() *REST {
	return &REST{
		endpoint: s.endpoint, soap: s.soap, creds: s.creds, tokens: s.tokens,
		isESXi: s.vim.ServiceContent.About.ApiType == "HostAgent",
	}
}

// Credentials returns those that the session was opened with.
func (s *Session) Credentials() credentials.Credentials { return s.creds }

// Host returns the host and port that the session was opened with.
func (s *Session) Host() string { return s.soap.URL().Host }

// Serves reports whether the session is of the vCenter at a configured address.
func (s *Session) Serves(cfg *config.VCenter) bool { return s.Host() == hostPort(cfg) }

// Retrust has connections from now on verified as the endpoint is configured now. An error
// leaves that as it was.
func (s *Session) Retrust() error {
	err := s.trust.set(s.endpoint.cfg.Load())
	s.soap.Client.CloseIdleConnections()
	return err
}

// Ping asks the vCenter for its time and returns why it does not answer. That the
// account may not ask is an answer too.
func (s *Session) Ping(ctx context.Context) error {
	if _, err := methods.GetCurrentTime(ctx, s.vim); err != nil && !faults.Denied(err) {
		return err
	}
	return nil
}

// Classify returns an error as a faults.SessionLostError if the vCenter does not know an
// object that was created through the session and not destroyed.
func (s *Session) Classify(err error) error {
	if err == nil || faults.SessionLost(err) {
		return err
	}
	if notFound, ok := faults.Of[*types.ManagedObjectNotFound](err); ok && s.Created(notFound.Obj) {
		return &faults.SessionLostError{Err: err}
	}
	return err
}

// Close ends both sessions, which are one where it was cloned. The context
// bounds it. Neither waits for the other: they are ended by services of their own, of
// which one may hang.
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
