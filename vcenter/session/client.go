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
