package session_test

import (
	"crypto/x509"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// offered is how an error tells a certificate.
func offered(c *x509.Certificate) string {
	return "; offered SHA-256 " + soap.ThumbprintSHA256(c) + ", subject " + strconv.Quote(c.Subject.String()) + ", issuer " + strconv.Quote(c.Issuer.String()) +
		", valid from " + day(c.NotBefore) + " until " + day(c.NotAfter)
}

// TestSessionManagerIsVerified: it is sent a token, which no insecureFlag and no
// thumbprint, both of them the vCenter's, may give to somebody else.
func TestSessionManagerIsVerified(t *testing.T) {
	_, vc, cfg := vcentertest.EastBehindFront(t)
	manager, both := vcentertest.SessionManager(t, cfg)
	own := manager.Cert.Cert
	cfg.TrustAt = "vsphere.yaml:9: vcenter.east.caFile"
	host := strings.TrimPrefix(vc.URL, "https://")
	refused := "logging in to " + host + " as a session of " + manager.URL + "/session: the certificate of the session manager 127.0.0.1 of vCenter \"east\" " +
		"is not trusted, and it is not sent the token: it is signed by an unknown authority: write its CA into caFile or caData, which count for a session manager besides the system's authorities"
	const neither = "; insecureFlag and thumbprint do not count for it"
	at := " (vsphere.yaml:9: vcenter.east.caFile)" + offered(own)
	for name, c := range map[string]struct {
		change func(*config.VCenter)
		want   string // empty for a login
	}{
		"insecureFlag":                {func(c *config.VCenter) { c.CA, c.Insecure = nil, true }, refused + neither + at},
		"insecureFlag, another CA":    {func(c *config.VCenter) { c.Insecure = true }, refused + neither + at},
		"insecureFlag, its CA":        {func(c *config.VCenter) { c.CA, c.Insecure = manager.Cert.PEM(), true }, ""},
		"its fingerprint":             {func(c *config.VCenter) { c.Thumbprint = soap.ThumbprintSHA256(own) }, refused + neither + at},
		"insecureFlag and thumbprint": {func(c *config.VCenter) { c.Insecure, c.Thumbprint = true, soap.ThumbprintSHA1(own) }, refused + "; insecureFlag and thumbprint do not count for it" + at},
		"another CA":                  {func(*config.VCenter) {}, refused + at},
		"its CA":                      {func(c *config.VCenter) { c.CA = both.CA }, ""},
		"its CA and a thumbprint":     {func(c *config.VCenter) { c.CA, c.Thumbprint = manager.Cert.PEM(), soap.ThumbprintSHA256(vc.Cert.Cert) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(manager.Requests("/", ""))
			cfg := cfg
			c.change(&cfg)
			s, err := open(t, &cfg, vcentertest.SharedBy(manager), 5*time.Second)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				closing(t, s)
				return
			}
			if n := len(manager.Requests("/", "")) - before; n != 0 {
				t.Errorf("%d requests with the token", n)
			}
			if err == nil {
				closing(t, s)
				t.Fatal("the session manager is trusted")
			}
			var untrusted *session.UntrustedError
			if err.Error() != c.want || !errors.As(err, &untrusted) || errors.Is(err, session.ErrRejected) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}
