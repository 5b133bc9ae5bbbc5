// Package preflight connects to a vCenter step by step and says which step fails: the name, the
// connection, the proxy, TLS, the certificate, and whether a vCenter answers.
//
// It shows no credentials, so it may be called at any time, and opens no session. Connections go the
// way of package session, which owns proxy and trust.
package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"golang.org/x/sync/errgroup"

	"vzones/config"
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
	VCenter string
	// Host is the host and port of the vCenter, Proxy those of the proxy, empty without one.
	Host, Proxy string
	// Addresses are those that the name has, none if it is an address itself or a proxy looks it up.
	Addresses []string
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
	var g errgroup.Group
	for i := range vcenters {
		g.Go(func() error {
			reports[i] = connect(ctx, &vcenters[i], timeout)
			return nil
		})
	}
	_ = g.Wait()
	return reports
}

// answerLimit is how many bytes of an answer are read.
const answerLimit = 1 << 20

// connect makes one request, of what a vCenter shows to everybody.
func connect(ctx context.Context, cfg *config.VCenter, timeout time.Duration) Report {
	r := Report{VCenter: cfg.Name}
	way, err := session.NewUnauthenticated(cfg, timeout)
	if err != nil {
		r.Failed, r.Err = Settings, faults.Printable{Err: err}
		return r
	}
	defer way.Client.CloseIdleConnections()
	r.Host = way.URL.Host
	if way.Proxy != nil {
		r.Proxy = way.Proxy.Host
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var came progress
	ctx = httptrace.WithClientTrace(ctx, came.trace())
	at := *way.URL
	at.Path += "/vimServiceVersions.xml"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		r.Failed, r.Err = Settings, faults.Printable{Err: err}
		return r
	}
	res, err := way.Client.Do(req)
	seen := came.now()
	r.Addresses, r.Certificate = seen.addresses, seen.certificate
	if err == nil {
		r.APIVersion, err = readVersion(res)
		seen.answered = true
	}
	if err != nil {
		r.Failed, r.Err = seen.failed(err, r.Proxy != ""), faults.Printable{Err: err}
		if untrusted := (*session.UntrustedError)(nil); errors.As(err, &untrusted) {
			r.Certificate = untrusted.Certificate
		}
	}
	return r
}

// readVersion reads the answer of a vCenter.
func readVersion(res *http.Response) (string, error) {
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers with HTTP status %d", res.StatusCode)
	}
	var versions struct {
		Namespaces []struct {
			Name    string `xml:"name"`
			Version string `xml:"version"`
		} `xml:"namespace"`
	}
	if err := xml.NewDecoder(io.LimitReader(res.Body, answerLimit)).Decode(&versions); err != nil {
		return "", errors.New("it does not answer as a vCenter does")
	}
	for _, n := range versions.Namespaces {
		if n.Name == "urn:vim25" {
			return n.Version, nil
		}
	}
	return "", errors.New("it does not name the vSphere API")
}

// failed returns the step that an error is of.
func (s *seen) failed(err error, proxied bool) Step {
	var name *net.DNSError
	switch {
	case s.answered:
		return Answer
	case errors.As(err, new(*session.UntrustedError)):
		return Trust
	case s.handshake == began:
		return TLS
	case s.handshake == done:
		return Answer
	case proxied:
		return Proxy
	case errors.As(err, &name):
		return Resolve
	case s.connected:
		return TLS
	}
	return Connect
}

// phase is how far a step has come.
type phase int

const (
	notBegun phase = iota
	began
	done
)

// seen is what was seen of one request.
type seen struct {
	addresses   []string
	connected   bool
	handshake   phase
	certificate *x509.Certificate
	answered    bool
}

func (s *seen) resolved(info httptrace.DNSDoneInfo) {
	for _, a := range info.Addrs {
		s.addresses = append(s.addresses, a.String())
	}
}

func (s *seen) shaken(state tls.ConnectionState, err error) {
	if err == nil {
		s.handshake = done
	}
	if len(state.PeerCertificates) > 0 {
		s.certificate = state.PeerCertificates[0]
	}
}
