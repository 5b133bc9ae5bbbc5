package preflight

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptrace"

	"vzones/vcenter/session"
)

// phase is how far a step has come.
type phase int

const (
	notBegun phase = iota
	began
	done
)

// seen is what was seen of one request.
type seen struct {
	lookup      phase
	connected   bool
	handshake   phase
	certificate *x509.Certificate
	answered    bool
}

func (s *seen) resolved(info httptrace.DNSDoneInfo) {
	if info.Err == nil {
		s.lookup = done
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
	case errors.As(err, &name), s.lookup == began: // DNS servers that do not answer may take all of the time
		return Resolve
	case s.connected:
		return TLS
	}
	return Connect
}
