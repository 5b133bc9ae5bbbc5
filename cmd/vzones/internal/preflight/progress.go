package preflight

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
)

// progress is what the goroutines of one request report.
type progress struct {
	mu sync.Mutex
	seen
}

// now returns what was seen until now. A connection that nobody waits for any more may go on.
func (p *progress) now() seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

func (p *progress) note(f func(*seen)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.seen)
}

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { p.note(func(s *seen) { s.lookup = began }) },
		DNSDone:  func(info httptrace.DNSDoneInfo) { p.note(func(s *seen) { s.resolved(info) }) },
		ConnectDone: func(_, _ string, err error) {
			p.note(func(s *seen) { s.connected = s.connected || err == nil })
		},
		TLSHandshakeStart: func() { p.note(func(s *seen) { s.handshake = began }) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			p.note(func(s *seen) { s.shaken(state, err) })
		},
	}
}
