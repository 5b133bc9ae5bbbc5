package vcenter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
)

// issued is a certificate with its key.
type issued struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (i issued) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})
}

// issue makes a certificate, by itself if there is no issuer.
func issue(t *testing.T, template x509.Certificate, by *issued) issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if by == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
		by = &issued{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return issued{cert, key}
}

// shows starts a server that shows certificates, the first its own, and returns
// its port and the number of requests to it.
func shows(t *testing.T, chain ...issued) (int, *atomic.Int32) {
	t.Helper()
	requests := new(atomic.Int32)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	c := tls.Certificate{PrivateKey: chain[0].key}
	for _, i := range chain {
		c.Certificate = append(c.Certificate, i.cert.Raw)
	}
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	port, err := strconv.Atoi(mustURL(t, srv.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	return port, requests
}

// TestUntrustedSaysWhatWasOffered: whatever is wrong with a certificate, the error
// tells it, the reason, and the line to change.
func TestUntrustedSaysWhatWasOffered(t *testing.T) {
	day := func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }
	loopback := []net.IP{net.ParseIP("127.0.0.1")}
	ca := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	other := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "other CA"}}, nil)
	oldCA := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "old CA"}, NotAfter: time.Now().Add(-time.Minute)}, nil)
	leaf := func(by issued, change func(*x509.Certificate)) issued {
		template := x509.Certificate{Subject: pkix.Name{CommonName: "vc", Organization: []string{"a\nb"}}, IPAddresses: loopback}
		change(&template)
		return issue(t, template, &by)
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
		chain      []issued
		ca         issued
		thumbprint string
		want       string // after the fingerprint
	}{
		"unknown authority": {[]issued{good, ca}, other, "", "; " + unknown},
		"self-signed":       {[]issued{other}, ca, "", "; it is for no host name or address at all, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint"},
		"expired":           {[]issued{expired}, ca, "", "; it has expired on " + day(expired.cert.NotAfter) + ": renew it on the server"},
		"not yet valid":     {[]issued{early}, ca, "", "; it is not valid before " + day(early.cert.NotBefore) + ": look at the clocks of the server and of this machine"},
		"expired issuer":    {[]issued{byOld, oldCA}, oldCA, "", `; the certificate "CN=old CA" above it has expired on ` + day(oldCA.cert.NotAfter) + ": renew it on the server"},
		"another host":      {[]issued{elsewhere}, ca, "", `; it is for "vc.example.com", 192.0.2.1, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint`},
		"many other hosts":  {[]issued{many}, ca, "", `; it is for "a", "b", "c", "d", "e", 2 more, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint`},
		"no host":           {[]issued{nameless}, ca, "", "; it is for no host name or address at all, not for 127.0.0.1: write a name that it is for into server, or the fingerprint into thumbprint"},
		"for clients":       {[]issued{client}, ca, "", `; it cannot be verified ("x509: certificate specifies an incompatible key usage"): write another CA into caFile or caData, or the fingerprint into thumbprint`},
		"SHA-256 thumbprint of another": {[]issued{good}, other, soap.ThumbprintSHA256(other.cert),
			"; its fingerprint is not the configured thumbprint, and " + unknown},
		"SHA-1 thumbprint of another": {[]issued{good}, other, soap.ThumbprintSHA1(other.cert),
			", SHA-1 " + soap.ThumbprintSHA1(good.cert) + "; its fingerprint is not the configured thumbprint, and " + unknown},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := shows(t, c.chain...)
			cfg := &config.VCenter{Server: "127.0.0.1", Port: port, CA: c.ca.pem(), Thumbprint: c.thumbprint,
				User: "me", Password: config.NewPassword("made-up"), TrustAt: "vsphere.yaml:12: vcenter.east.caFile"}
			err := tryLogin(t, cfg)
			shown := c.chain[0].cert
			quote := func(s string) string { return strconv.Quote(s) }
			want := "connecting to 127.0.0.1:" + strconv.Itoa(port) + ": the certificate of 127.0.0.1 is not trusted: offered subject " +
				quote(shown.Subject.String()) + ", issuer " + quote(shown.Issuer.String()) + ", valid from " + day(shown.NotBefore) + " until " + day(shown.NotAfter) +
				", SHA-256 " + soap.ThumbprintSHA256(shown) + c.want + " (vsphere.yaml:12: vcenter.east.caFile)"
			if err == nil || err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
			var untrusted *UntrustedError
			if !errors.As(err, &untrusted) || !untrusted.Certificate.Equal(shown) || untrusted.Unwrap() == nil {
				t.Errorf("%#v", err)
			}
			if strings.Contains(err.Error(), "\n") || requests.Load() != 0 {
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
}

// TestTrustThatNeedsNoCA: a thumbprint of either kind stands for the certificate
// whatever is wrong with it, and an intermediate that the server sends is used.
func TestTrustThatNeedsNoCA(t *testing.T) {
	ca := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	middle := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "middle"}, IsCA: true, BasicConstraintsValid: true}, &ca)
	leaf := issue(t, x509.Certificate{IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}, &middle)
	old := issue(t, x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}, nil)
	for name, c := range map[string]struct {
		chain []issued
		cfg   config.VCenter
	}{
		"intermediate": {[]issued{leaf, middle}, config.VCenter{CA: ca.pem()}},
		"SHA-1":        {[]issued{old}, config.VCenter{Thumbprint: soap.ThumbprintSHA1(old.cert)}},
		"SHA-256":      {[]issued{old}, config.VCenter{Thumbprint: soap.ThumbprintSHA256(old.cert)}},
		"insecure":     {[]issued{old}, config.VCenter{Insecure: true}},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := shows(t, c.chain...)
			c.cfg.Server, c.cfg.Port, c.cfg.User = "127.0.0.1", port, "me"
			err := tryLogin(t, &c.cfg)
			var untrusted *UntrustedError
			if err == nil || errors.As(err, &untrusted) || requests.Load() != 1 {
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
}

// TestTrustIsReplaced: a client accepts what was last said, whatever else becomes of
// the configuration.
func TestTrustIsReplaced(t *testing.T) {
	old := issue(t, x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}, nil)
	port, requests := shows(t, old)
	cfg := config.VCenter{Server: "127.0.0.1", Port: port, Thumbprint: soap.ThumbprintSHA1(old.cert)}
	accept, err := newTrust(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := newSOAPClient(&cfg, accept, time.Second)
	defer c.CloseIdleConnections()
	get := func() error {
		c.CloseIdleConnections()
		res, err := c.Get(c.URL().String())
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	cfg = config.VCenter{}
	if err := get(); err != nil || requests.Load() != 1 {
		t.Fatalf("%d requests, %v", requests.Load(), err)
	}
	if err := accept.set(&config.VCenter{CAFile: "ca.pem", CA: []byte("no PEM")}); err == nil {
		t.Error("accepts nothing readable")
	}
	if err := get(); err != nil {
		t.Errorf("what cannot be read has replaced what was: %v", err)
	}
	if err := accept.set(&config.VCenter{TrustAt: "vsphere.yaml:9"}); err != nil {
		t.Fatal(err)
	}
	if err := get(); err == nil || !strings.Contains(err.Error(), "vsphere.yaml:9") || requests.Load() != 2 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	if err := accept.set(&config.VCenter{Insecure: true}); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Error(err)
	}
}

// clientOf is a client with the trust that is configured.
func clientOf(t *testing.T, cfg *config.VCenter) *soap.Client {
	t.Helper()
	accept, err := newTrust(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return newSOAPClient(cfg, accept, time.Second)
}

func TestShownIsBounded(t *testing.T) {
	if got := shown(strings.Repeat("ä", 300) + "\n"); got != `"`+strings.Repeat("ä", 200)+`…"` {
		t.Error(got)
	}
	if got := shown("a\nb\x00\xff\""); got != `"a\nb\x00�\""` {
		t.Error(got)
	}
}
