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
	t := c.DefaultTransport()
	// govmomi's own dial function ignores the context, so a vCenter
	// that accepts connections and then never answers would keep it for ever.
	t.DialTLSContext = nil
	prepare(t, accept.config(cfg.Server), timeout)
	return c
}

const userAgent = "vzones"

// prepare bounds what a transport may take, leads it through the proxy of the
// environment, and has it verify certificates.
func prepare(t *http.Transport, verify *tls.Config, timeout time.Duration) {
	t.Proxy = http.ProxyFromEnvironment
	t.DialContext = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = timeout
	t.TLSClientConfig = verify
}
