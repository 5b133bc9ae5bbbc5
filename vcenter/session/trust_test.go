package session_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestUntrustedSaysWhatWasOffered: whatever is wrong with a certificate, the error
// tells it, the reason, and the line to change.
func TestUntrustedSaysWhatWasOffered(t *testing.T) {
	loopback := []net.IP{net.ParseIP("127.0.0.1")}
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	other := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "other CA"}}, nil)
	oldCA := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "old CA"}, NotAfter: time.Now().Add(-time.Minute)}, nil)
	leaf := func(by vcentertest.Issued, change func(*x509.Certificate)) vcentertest.Issued {
		template := x509.Certificate{Subject: pkix.Name{CommonName: "vc", Organization: []string{"a\nb"}}, IPAddresses: loopback}
		change(&template)
		return vcentertest.Issue(t, template, &by)
	}
	good := leaf(ca, func(*x509.Certificate) {})
	expired := leaf(ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := leaf(ca, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	})
	elsewhere := leaf(ca, func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = []net.IP{net.ParseIP("192.0.2.1")}, []string{"vc.example.com"}
	})
	many := leaf(ca, func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{"a", "b", "c", "d", "e", "f", "g"}
	})
	nameless := leaf(ca, func(c *x509.Certificate) { c.IPAddresses = nil })
	client := leaf(ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	byOld := leaf(oldCA, func(*x509.Certificate) {})
	const unknown = "it is signed by an unknown authority: write its CA into caFile or caData, or the fingerprint into thumbprint"
	for name, c := range map[string]struct {
		chain      []vcentertest.Issued
		ca         vcentertest.Issued
		thumbprint string
		want       string // after the fingerprint
	}{
		"unknown authority": {[]vcentertest.Issued{good, ca}, other, "", "; " + unknown},
		"self-signed":       {[]vcentertest.Issued{other}, ca, "", "; it is for no host name or address at all, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint"},
		"expired":           {[]vcentertest.Issued{expired}, ca, "", "; it has expired on " + day(expired.Cert.NotAfter) + ": renew it on the server"},
		"not yet valid":     {[]vcentertest.Issued{early}, ca, "", "; it is not valid before " + day(early.Cert.NotBefore) + ": look at the clocks of the server and of this machine"},
		"expired issuer":    {[]vcentertest.Issued{byOld, oldCA}, oldCA, "", `; the certificate "CN=old CA" above it has expired on ` + day(oldCA.Cert.NotAfter) + ": renew it on the server"},
		"another host":      {[]vcentertest.Issued{elsewhere}, ca, "", `; it is for "vc.example.com", 192.0.2.1, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint`},
		"many other hosts":  {[]vcentertest.Issued{many}, ca, "", `; it is for "a", "b", "c", "d", "e", 2 more, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint`},
		"no host":           {[]vcentertest.Issued{nameless}, ca, "", "; it is for no host name or address at all, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint"},
		"for clients":       {[]vcentertest.Issued{client}, ca, "", `; it cannot be verified ("x509: certificate specifies an incompatible key usage"): write another CA into caFile or caData, or the fingerprint into thumbprint`},
		"SHA-256 thumbprint of another": {[]vcentertest.Issued{good}, other, soap.ThumbprintSHA256(other.Cert),
			"; its fingerprint is not the configured thumbprint, and " + unknown},
		"SHA-1 thumbprint of another": {[]vcentertest.Issued{good}, other, soap.ThumbprintSHA1(other.Cert),
			", SHA-1 " + soap.ThumbprintSHA1(good.Cert) + "; its fingerprint is not the configured thumbprint, and " + unknown},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := vcentertest.Shows(t, c.chain...)
			cfg := &config.VCenter{Server: "127.0.0.1", Port: port, CA: c.ca.PEM(), Thumbprint: c.thumbprint,
				User: "me", Password: config.NewPassword("made-up"), TrustAt: "vsphere.yaml:12: vcenter.east.caFile"}
			err := tryLogin(t, cfg)
			shown := c.chain[0].Cert
			quote := func(s string) string { return strconv.Quote(s) }
			sha1, why, _ := strings.Cut(c.want, "; ")
			want := "connecting to 127.0.0.1:" + strconv.Itoa(port) + ": the certificate of 127.0.0.1 is not trusted: " + why + " (vsphere.yaml:12: vcenter.east.caFile)" +
				"; offered SHA-256 " + soap.ThumbprintSHA256(shown) + sha1 + ", subject " +
				quote(shown.Subject.String()) + ", issuer " + quote(shown.Issuer.String()) + ", valid from " + day(shown.NotBefore) + " until " + day(shown.NotAfter)
			if err == nil || err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
			var untrusted *session.UntrustedError
			if !errors.As(err, &untrusted) || !untrusted.Certificate.Equal(shown) || untrusted.Unwrap() == nil {
				t.Errorf("%#v", err)
			}
			if strings.Contains(err.Error(), "\n") || requests.Load() != 0 {
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
}

// TestIssuerWithDomainComponents: names of vCenter's own authority have domain components, which the error has by
// their usual name.
func TestIssuerWithDomainComponents(t *testing.T) {
	component := asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: component, Value: "local"}, {Type: component, Value: "vsphere"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "CA"},
	}}}, nil)
	own := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "vc.example.com", Country: []string{"US"}}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}, &ca)
	port, _ := vcentertest.Shows(t, own)
	err := tryLogin(t, &config.VCenter{Server: "127.0.0.1", Port: port, User: "me", Password: config.NewPassword("made-up")})
	if err == nil || !strings.Contains(err.Error(), `, subject "CN=vc.example.com,C=US", issuer "CN=CA,DC=vsphere,DC=local", valid from `) {
		t.Error(err)
	}
}

// TestTrustThatNeedsNoCA: a thumbprint of either kind stands for the certificate
// whatever is wrong with it, and an intermediate that the server sends is used.
func TestTrustThatNeedsNoCA(t *testing.T) {
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	middle := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "middle"}, IsCA: true, BasicConstraintsValid: true}, &ca)
	leaf := vcentertest.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}, &middle)
	old := vcentertest.Issue(t, x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}, nil)
	for name, c := range map[string]struct {
		chain []vcentertest.Issued
		cfg   config.VCenter
	}{
		"intermediate": {[]vcentertest.Issued{leaf, middle}, config.VCenter{CA: ca.PEM()}},
		"SHA-1":        {[]vcentertest.Issued{old}, config.VCenter{Thumbprint: soap.ThumbprintSHA1(old.Cert)}},
		"SHA-256":      {[]vcentertest.Issued{old}, config.VCenter{Thumbprint: soap.ThumbprintSHA256(old.Cert)}},
		"insecure":     {[]vcentertest.Issued{old}, config.VCenter{Insecure: true}},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := vcentertest.Shows(t, c.chain...)
			c.cfg.Server, c.cfg.Port, c.cfg.User = "127.0.0.1", port, "me"
			err := tryLogin(t, &c.cfg)
			var untrusted *session.UntrustedError
			if err == nil || errors.As(err, &untrusted) || requests.Load() != 1 {
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
}
