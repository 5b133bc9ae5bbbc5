package session_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
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

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

const bare = `
vcenters:
- name: east
- name: west
`

// tryLogin logs in to a simulated vCenter and out again.
func tryLogin(t *testing.T, cfg *config.VCenter) error {
	t.Helper()
	s, err := open(t, cfg, credentials.Credentials{User: cfg.User, Password: cfg.Password}, 5*time.Second)
	if err != nil {
		return err
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("logging out: %v", err)
	}
	return nil
}

func TestTrust(t *testing.T) {
	sim, cfgs := vcentertest.Simulate(t, bare)
	east, west := sim.VCenters()[0], sim.VCenters()[1]
	own, others := vcentertest.Leaf(t, east.Certificate()), vcentertest.Leaf(t, west.Certificate())

	for _, c := range []struct {
		name   string
		trust  func(*config.VCenter)
		refuse string // what the error says, empty for trust
	}{
		{"its CA", func(c *config.VCenter) {}, ""},
		{"its CA among others", func(c *config.VCenter) { c.CA = append(west.Certificate(), east.Certificate()...) }, ""},
		{"another CA", func(c *config.VCenter) { c.CA = west.Certificate() }, "certificate"},
		{"the system's CAs", func(c *config.VCenter) { c.CA = nil }, "certificate"},
		{"insecure", func(c *config.VCenter) { c.CA, c.Insecure = nil, true }, ""},
		{"insecure, another CA", func(c *config.VCenter) { c.CA, c.Insecure = west.Certificate(), true }, ""},
		{"SHA-1 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA1(own) }, ""},
		{"SHA-256 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA256(own) }, ""},
		{"thumbprint, another CA", func(c *config.VCenter) { c.CA, c.Thumbprint = west.Certificate(), soap.ThumbprintSHA256(own) }, ""},
		{"another thumbprint, its CA", func(c *config.VCenter) { c.Thumbprint = soap.ThumbprintSHA256(others) }, ""},
		{"another SHA-1 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA1(others) }, soap.ThumbprintSHA256(own)},
		{"another SHA-256 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA256(others) }, soap.ThumbprintSHA256(own)},
		{"another thumbprint, another CA", func(c *config.VCenter) { c.CA, c.Thumbprint = west.Certificate(), soap.ThumbprintSHA256(others) }, soap.ThumbprintSHA256(own)},
	} {
		t.Run(c.name, func(t *testing.T) {
			east.ResetRequests()
			cfg := cfgs[0]
			c.trust(&cfg)
			err := tryLogin(t, &cfg)
			if c.refuse == "" {
				if err != nil || east.Requests()["Login"] != 1 {
					t.Fatalf("%v, requests %v", err, east.Requests())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.refuse) || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("the error does not say %q: %v", c.refuse, err)
			}
			var verification *tls.CertificateVerificationError
			var authority x509.UnknownAuthorityError
			if !errors.As(err, &verification) && !errors.As(err, &authority) {
				t.Errorf("not for the certificate: %v", err)
			}
			if n := east.Total(); n != 0 {
				t.Errorf("%d requests, credentials perhaps among them: %v", n, east.Requests())
			}
			if strings.Contains(err.Error(), cfg.Password.Reveal()) {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}

// certificate makes a self-signed one for an address and a name.
func certificate(t *testing.T, ip net.IP, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0x7fffffff), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{ip},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestTrustIsForTheAddress: a certificate that the CA vouches for, but for
// another server, is refused with a thumbprint configured as it is without. An
// IP address is no server name in TLS, so that it has to be compared by hand.
func TestTrustIsForTheAddress(t *testing.T) {
	cert, ca := certificate(t, net.ParseIP("192.0.2.1"), "elsewhere.example.com")
	var requests atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	port, err := strconv.Atoi(vcentertest.MustURL(t, srv.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	for name, thumbprint := range map[string]string{"no thumbprint": "", "another thumbprint": strings.TrimSuffix(strings.Repeat("AB:", 32), ":")} {
		for _, server := range []string{"127.0.0.1", "localhost"} {
			t.Run(name+", "+server, func(t *testing.T) {
				err := tryLogin(t, &config.VCenter{Name: "east", Server: server, Port: port, CA: ca, Thumbprint: thumbprint, User: "me"})
				var host x509.HostnameError
				if !errors.As(err, &host) {
					t.Errorf("not refused for the address: %v", err)
				}
			})
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestNegativeSerial: old and private authorities have signed such certificates, which Go refuses
// by default.
func TestNegativeSerial(t *testing.T) {
	const serial, negative = "\x02\x04\x7f\xff\xff\xff", "\x02\x04\x80\xff\xff\xff"
	cert, _ := certificate(t, net.ParseIP("127.0.0.1"), "localhost")
	var signed struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(cert.Certificate[0], &signed); err != nil {
		t.Fatal(err)
	}
	signed.Body = asn1.RawValue{FullBytes: bytes.Replace(signed.Body.FullBytes, []byte(serial), []byte(negative), 1)}
	digest := sha256.Sum256(signed.Body.FullBytes)
	signature, err := cert.PrivateKey.(crypto.Signer).Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	signed.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	if cert.Certificate[0], err = asn1.Marshal(signed); err != nil {
		t.Fatal(err)
	}
	if c, err := x509.ParseCertificate(cert.Certificate[0]); err != nil || c.SerialNumber.Sign() >= 0 {
		t.Fatalf("%v, %v", c, err)
	}

	var requests atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	defer srv.Close()
	port, err := strconv.Atoi(vcentertest.MustURL(t, srv.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	if err := tryLogin(t, &config.VCenter{Name: "east", Server: "127.0.0.1", Port: port, CA: ca, User: "me"}); requests.Load() == 0 {
		t.Errorf("the server is not trusted: %v", err)
	}
}

// TestCallsEndWithTheirContext: stopping the daemon waits for no vCenter.
func TestCallsEndWithTheirContext(t *testing.T) {
	sim, cfgs := vcentertest.Simulate(t, bare)
	s, err := open(t, &cfgs[0], credentials.Credentials{User: cfgs[0].User, Password: cfgs[0].Password}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Client().Client.Client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := methods.GetCurrentTime(ctx, s.Client()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := sim.VCenters()[0].Requests()["CurrentTime"]; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestALoginThatIsGivenUp is no rejection, whatever it is given up for.
func TestALoginThatIsGivenUp(t *testing.T) {
	_, f, cfg := vcentertest.EastBehindFront(t)
	f.Answer(vcentertest.Hang("/sdk"))
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(session.ErrRejected) })
	e, _ := endpoint(&cfg, time.Minute)
	s, err := session.Open(ctx, e, credentials.Credentials{User: cfg.User, Password: cfg.Password})
	if s != nil || !errors.Is(err, context.Canceled) || errors.Is(err, session.ErrRejected) {
		t.Errorf("%v, %v", s, err)
	}
}
