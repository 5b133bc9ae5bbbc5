package session

import (
	"net/http"
	"net/url"
	"time"

	"github.com/vmware/govmomi/vim25"

	"vzones/config"
)

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
