package check

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

// A preflightStep is one of those that lead to a vCenter.
type preflightStep string

// The steps, in their order.
const (
	// stepDone is that none has failed.
	stepDone preflightStep = ""
	// stepSettings are the certificates of the configuration and the environment's proxy.
	stepSettings preflightStep = "settings"
	// stepResolve looks up the name of the vCenter.
	stepResolve preflightStep = "name resolution"
	// stepProxy reaches the proxy, which has to reach the vCenter.
	stepProxy preflightStep = "proxy"
	// stepConnect opens a TCP connection.
	stepConnect preflightStep = "connection"
	// stepTLS agrees on a protocol.
	stepTLS preflightStep = "TLS"
	// stepTrust verifies the certificate.
	stepTrust preflightStep = "certificate"
	// stepAnswer is that of a vCenter.
	stepAnswer preflightStep = "answer"
)

// A preflight is what came of one attempt to reach a vCenter: which step has failed, of the name, the
// connection, the proxy, TLS, the certificate and the answer.
//
// It sends no credentials, so it may run at any time, and opens no session. Connections go the way of package
// session, which owns proxy and trust.
type preflight struct {
	// Host is the host and port of the vCenter, Proxy those of the proxy, empty without one.
	Host, Proxy string
	// Failed is the step that has failed, and Err why: on one line, without anything secret.
	Failed preflightStep
	Err    error
	// Certificate is what the vCenter has shown, nil if it came to none.
	Certificate *x509.Certificate
	// APIVersion is the newest version of the vSphere API that the vCenter names, empty if it names none.
	APIVersion string
}

// runPreflights connects to vCenters, all side by side, each for at most a time. The reports are in the order
// of the vCenters.
func runPreflights(ctx context.Context, vcenters []config.VCenter, timeout time.Duration) []preflight {
	reports := make([]preflight, len(vcenters))
	var side sync.WaitGroup
	for i := range vcenters {
		side.Go(func() { reports[i] = connect(ctx, &vcenters[i], timeout) })
	}
	side.Wait()
	return reports
}

// connect makes one request, of what a vCenter shows to everybody.
func connect(ctx context.Context, cfg *config.VCenter, timeout time.Duration) (r preflight) {
	way, err := session.NewUnauthenticated(cfg, timeout)
	if err != nil {
		return preflight{Failed: stepSettings, Err: faults.Printable{Err: err}}
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
	reached := preflightProgress{step: stepConnect}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, reached.trace()), http.MethodGet, at.String(), nil)
	if err != nil {
		return preflight{Host: r.Host, Proxy: r.Proxy, Failed: stepSettings, Err: faults.Printable{Err: err}}
	}
	res, err := way.Client.Do(req)
	step, certificate := reached.now()
	r.Certificate = certificate
	if err == nil {
		step = stepAnswer
		r.APIVersion, err = session.APIVersion(res)
		_ = res.Body.Close()
	}
	if err == nil {
		return r
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = topology.Errorf(context.DeadlineExceeded, "no answer within %v", timeout)
	}
	r.Failed = step
	r.Err = faults.Printable{Err: err}
	var untrusted *session.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		r.Failed = stepTrust
		r.Certificate = untrusted.Certificate
	case r.Proxy != "" && (step == stepResolve || step == stepConnect):
		r.Failed = stepProxy
	case errors.As(err, new(*net.DNSError)):
		r.Failed = stepResolve
	}
	return r
}

// preflightProgress is the step that a request is at, as the goroutines of its connections report it.
type preflightProgress struct {
	mu          sync.Mutex
	step        preflightStep
	certificate *x509.Certificate
}

// now returns what was seen until now. A connection that nobody waits for any more may go on.
func (p *preflightProgress) now() (preflightStep, *x509.Certificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step, p.certificate
}

func (p *preflightProgress) reach(step preflightStep, certificates []*x509.Certificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
	if len(certificates) > 0 {
		p.certificate = certificates[0]
	}
}

func (p *preflightProgress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		// DNS servers that do not answer may take all of the time.
		DNSStart:          func(httptrace.DNSStartInfo) { p.reach(stepResolve, nil) },
		ConnectStart:      func(_, _ string) { p.reach(stepConnect, nil) },
		TLSHandshakeStart: func() { p.reach(stepTLS, nil) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			step := stepTLS
			if err == nil {
				step = stepAnswer
			}
			p.reach(step, state.PeerCertificates)
		},
	}
}
