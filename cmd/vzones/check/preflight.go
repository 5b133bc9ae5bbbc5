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

type preflightStep string

// The steps, in order.
const (
	stepDone preflightStep = ""
	// stepSettings reads the CA files of the configuration and the proxy of the environment.
	stepSettings preflightStep = "settings"
	stepResolve  preflightStep = "name resolution"
	// stepProxy connects to the proxy, which connects to the vCenter.
	stepProxy   preflightStep = "proxy"
	stepConnect preflightStep = "connection"
	stepTLS     preflightStep = "TLS"
	stepTrust   preflightStep = "certificate"
	stepAnswer  preflightStep = "answer"
)

// preflight is the result of one attempt to reach a vCenter without credentials, so it cannot lock an
// account. Package session makes the connection, with its proxy and trust settings.
type preflight struct {
	// Host is the host and port of the vCenter. Proxy is the host and port of the proxy, or "".
	Host, Proxy string
	// Failed is the failed step, and Err its error: one line without secrets.
	Failed preflightStep
	Err    error
	// Certificate is the vCenter's certificate, or nil if the handshake did not get that far.
	Certificate *x509.Certificate
	// APIVersion is the newest version of the vSphere API that the vCenter supports, or "".
	APIVersion string
}

func runPreflights(ctx context.Context, vcenters []config.VCenter, timeout time.Duration) []preflight {
	reports := make([]preflight, len(vcenters))
	var wg sync.WaitGroup
	for i := range vcenters {
		wg.Go(func() { reports[i] = connect(ctx, &vcenters[i], timeout) })
	}
	wg.Wait()
	return reports
}

// connect requests a file that needs no login.
func connect(ctx context.Context, cfg *config.VCenter, timeout time.Duration) (r preflight) {
	endpoint, err := session.NewUnauthenticated(cfg, timeout)
	if err != nil {
		return preflight{Failed: stepSettings, Err: faults.Printable{Err: err}}
	}
	defer endpoint.Client.CloseIdleConnections()
	r.Host = endpoint.URL.Host
	if endpoint.Proxy != nil {
		r.Proxy = endpoint.Proxy.Host
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	target := *endpoint.URL
	target.Path += "/vimServiceVersions.xml"
	progress := preflightProgress{step: stepConnect}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, progress.trace()), http.MethodGet, target.String(), nil)
	if err != nil {
		return preflight{Host: r.Host, Proxy: r.Proxy, Failed: stepSettings, Err: faults.Printable{Err: err}}
	}
	res, err := endpoint.Client.Do(req)
	step, certificate := progress.current()
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

// preflightProgress is the step of a request, reported by the goroutines of its connections.
type preflightProgress struct {
	mu          sync.Mutex
	step        preflightStep
	certificate *x509.Certificate
}

// current returns the current state. An abandoned connection may still report steps later.
func (p *preflightProgress) current() (preflightStep, *x509.Certificate) {
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
		// DNS servers that do not answer may use up the whole timeout.
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
