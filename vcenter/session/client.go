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

func newSOAPClient(cfg *config.VCenter, tr *trust, timeout time.Duration) *soap.Client {
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
	limited := prepare(t, tr.tlsConfig(cfg.Server), timeout)
	c.Transport = limited
	// Clients that govmomi derives from c use its default transport.
	c.DefaultTransport().RegisterProtocol("https", limited)
	c.DefaultTransport().RegisterProtocol("http", limited)
	return c
}

const userAgent = "vzones"

func prepare(t *http.Transport, verify *tls.Config, timeout time.Duration) *transport {
	t.Proxy = http.ProxyFromEnvironment
	t.DialContext = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = timeout
	t.TLSClientConfig = verify
	return newTransport(t)
}

// An Unauthenticated calls a vCenter without a login, with the proxy, trust and limits of a session.
type Unauthenticated struct {
	// Client opens a connection for each request and follows no redirect.
	Client *http.Client
	URL    *url.URL
	Proxy  *url.URL
}

// NewUnauthenticated contacts nothing. An error is about the configured trust or the environment's proxy.
func NewUnauthenticated(cfg *config.VCenter, timeout time.Duration) (*Unauthenticated, error) {
	tr, err := newTrust(cfg)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{DisableKeepAlives: true}
	u := &Unauthenticated{
		Client: &http.Client{Transport: prepare(t, tr.tlsConfig(cfg.Server), timeout), Timeout: timeout},
		URL:    &url.URL{Scheme: "https", Host: hostPort(cfg), Path: vim25.Path},
	}
	u.Proxy, err = t.Proxy(&http.Request{URL: u.URL})
	return u, err
}
