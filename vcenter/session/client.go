package session

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
)

// newSOAPClient prepares a client; it contacts nothing. Clients that govmomi
// makes of it, for REST and tokens, go the same way and trust the same.
func newSOAPClient(cfg *config.VCenter, accept *trust, timeout time.Duration) *soap.Client {
	u := &url.URL{
		Scheme: "https",
		Host:   hostPort(cfg),
		Path:   vim25.Path,
	}
	c := soap.NewClient(u, cfg.Insecure)
	c.UserAgent = userAgent
	c.Types = KnownType
	c.Jar = newSessionJar(u.Host)
	t := &http.Transport{MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second}
	own := prepare(t, accept.config(cfg.Server), timeout)
	c.Transport = own
	// Clients that govmomi makes of this one have its default transport. It has no connections,
	// so that idle ones are closed by the http.Client only.
	c.DefaultTransport().RegisterProtocol("https", own)
	c.DefaultTransport().RegisterProtocol("http", own)
	return c
}

const userAgent = "vzones"

// prepare bounds what a transport may take, leads it through the proxy of the
// environment, and has it verify certificates.
func prepare(t *http.Transport, verify *tls.Config, timeout time.Duration) *transport {
	t.Proxy = http.ProxyFromEnvironment
	t.DialContext = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = timeout
	t.TLSClientConfig = verify
	return newTransport(t)
}

// An Unauthenticated calls a vCenter without logging in, in the way that sessions go: through the
// same proxy, with the same trust and the same bounds.
type Unauthenticated struct {
	// Client makes a connection for each request, and follows no redirection.
	Client *http.Client
	// URL is that of the vCenter's SOAP API.
	URL *url.URL
	// Proxy is what Client goes through, nil for none.
	Proxy *url.URL
}

// NewUnauthenticated returns the client of a vCenter. It contacts nothing. The error is about what the
// configuration trusts, or about the environment's proxy.
func NewUnauthenticated(cfg *config.VCenter, timeout time.Duration) (*Unauthenticated, error) {
	accept, err := newTrust(cfg)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{DisableKeepAlives: true}
	u := &Unauthenticated{
		Client: &http.Client{Transport: prepare(t, accept.config(cfg.Server), timeout), Timeout: timeout},
		URL:    &url.URL{Scheme: "https", Host: hostPort(cfg), Path: vim25.Path},
	}
	u.Proxy, err = t.Proxy(&http.Request{URL: u.URL})
	return u, err
}
