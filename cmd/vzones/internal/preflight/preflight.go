// Package preflight connects to a vCenter and says which step of that fails: the name, the connection,
// the proxy, TLS, the certificate, or the answer.
//
// It shows no credentials, so it may be called at any time, and opens no session. Connections go the
// way of package session, which owns proxy and trust.
package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

// A Step is one of those that lead to a vCenter.
type Step string

// The steps, in their order.
const (
	// Done is that none has failed.
	Done Step = ""
	// Settings are the certificates of the configuration and the environment's proxy.
	Settings Step = "settings"
	// Resolve looks up the name of the vCenter.
	Resolve Step = "name resolution"
	// Proxy reaches the proxy, which has to reach the vCenter.
	Proxy Step = "proxy"
	// Connect opens a TCP connection.
	Connect Step = "connection"
	// TLS agrees on a protocol.
	TLS Step = "TLS"
	// Trust verifies the certificate.
	Trust Step = "certificate"
	// Answer is that of a vCenter.
	Answer Step = "answer"
)

// A Report is what came of one attempt to reach a vCenter.
type Report struct {
	// Host is the host and port of the vCenter, Proxy those of the proxy, empty without one.
	Host, Proxy string
	// Failed is the step that has failed, and Err why: on one line, without anything secret.
	Failed Step
	Err    error
	// Certificate is what the vCenter has shown, nil if it came to none.
	Certificate *x509.Certificate
	// APIVersion is the newest version of the vSphere API that the vCenter names, empty if it names none.
	APIVersion string
}

// Run connects to vCenters, all side by side, each for at most a time. The reports are in the order
// of the vCenters.
func Run(ctx context.Context, vcenters []config.VCenter, timeout time.Duration) []Report {
	reports := make([]Report, len(vcenters))
	var side sync.WaitGroup
	for i := range vcenters {
		side.Go(func() { reports[i] = connect(ctx, &vcenters[i], timeout) })
	}
	side.Wait()
	return reports
}

// connect makes one request, of what a vCenter shows to everybody.
func connect(ctx context.Context, cfg *config.VCenter, timeout time.Duration) (r Report) {
	way, err := session.NewUnauthenticated(cfg, timeout)
	if err != nil {
		return Report{Failed: Settings, Err: faults.Printable{Err: err}}
	}
	defer way.Client.CloseIdleConnections()
	r.Host = way.URL.Host
	if way.Proxy != nil {
		r.Proxy = way.Proxy.Host
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	at := *way.URL
	at.Path += "/vimServiceVersions.xml"
	reached := progress{step: Connect}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, reached.trace()), http.MethodGet, at.String(), nil)
	if err != nil {
		return Report{Host: r.Host, Proxy: r.Proxy, Failed: Settings, Err: faults.Printable{Err: err}}
	}
	res, err := way.Client.Do(req)
	step, certificate := reached.now()
	r.Certificate = certificate
	if err == nil {
		step = Answer
		r.APIVersion, err = session.APIVersion(res)
		_ = res.Body.Close()
	}
	if err == nil {
		return r
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = topology.Errorf(context.DeadlineExceeded, "no answer within %v", timeout)
	}
	r.Failed, r.Err = step, faults.Printable{Err: err}
	var untrusted *session.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		r.Failed, r.Certificate = Trust, untrusted.Certificate
	case r.Proxy != "" && (step == Resolve || step == Connect):
		r.Failed = Proxy
	case errors.As(err, new(*net.DNSError)):
		r.Failed = Resolve
	}
	return r
}

// progress is the step that a request is at, as the goroutines of its connections report it.
type progress struct {
	mu          sync.Mutex
	step        Step
	certificate *x509.Certificate
}

// now returns what was seen until now. A connection that nobody waits for any more may go on.
func (p *progress) now() (Step, *x509.Certificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step, p.certificate
}

func (p *progress) reach(step Step, certificates []*x509.Certificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
	if len(certificates) > 0 {
		p.certificate = certificates[0]
	}
}

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		// DNS servers that do not answer may take all of the time.
		DNSStart:          func(httptrace.DNSStartInfo) { p.reach(Resolve, nil) },
		ConnectStart:      func(_, _ string) { p.reach(Connect, nil) },
		TLSHandshakeStart: func() { p.reach(TLS, nil) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			step := TLS
			if err == nil {
				step = Answer
			}
			p.reach(step, state.PeerCertificates)
		},
	}
}
