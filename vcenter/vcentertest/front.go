package vcentertest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"vzones/config"
)

// A Front is a TLS proxy for a simulated server. It records requests and can answer them itself.
type Front struct {
	*httptest.Server
	Cert Issued

	mu       sync.Mutex
	received []Request
	override func(w http.ResponseWriter, r *http.Request, body string) bool
}

// A Request is a request that a Front received.
type Request struct{ Path, Body, Authorization string }

// NewFront starts a front for a handler.
func NewFront(t *testing.T, handler http.Handler) *Front {
	t.Helper()
	f := &Front{Cert: Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "front"},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, DNSNames: []string{"vc.example.test", "sessions.example.test", "vc_1.example.test", "session_s.example.test"}}, nil)}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		f.mu.Lock()
		f.received = append(f.received, Request{r.URL.Path, string(body), r.Header.Get("Authorization")})
		override := f.override
		f.mu.Unlock()
		if override != nil && override(w, r, string(body)) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	f.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{f.Cert.Cert.Raw}, PrivateKey: f.Cert.Key}}}
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// Answer sets the function that may answer requests in place of the handler.
func (f *Front) Answer(override func(w http.ResponseWriter, r *http.Request, body string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.override = override
}

// Requests returns the requests with a path prefix and a text in the body.
func (f *Front) Requests(path, body string) []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []Request
	for _, a := range f.received {
		if strings.HasPrefix(a.Path, path) && strings.Contains(a.Body, body) {
			found = append(found, a)
		}
	}
	return found
}

// VCenter returns the configuration of a vCenter behind the front.
func (f *Front) VCenter(t *testing.T) config.VCenter {
	t.Helper()
	port, err := strconv.Atoi(MustURL(t, f.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	return config.VCenter{Name: "east", Server: "127.0.0.1", Port: port, CA: f.Cert.PEM(), RoundTrips: 3, IPFamilies: []string{"ipv4"}}
}

// Hang never answers requests with one of the path prefixes.
func Hang(paths ...string) func(http.ResponseWriter, *http.Request, string) bool {
	return func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		for _, p := range paths {
			if strings.HasPrefix(r.URL.Path, p) {
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			}
		}
		return false
	}
}
