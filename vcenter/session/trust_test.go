package session_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

var loopback = []net.IP{net.ParseIP("127.0.0.1")}

// TestTrust checks which certificates are trusted by a CA, by either kind of thumbprint, or with insecureFlag. An
// untrusted server receives nothing, and the error contains the reason, the certificate and the line to change.
func TestTrust(t *testing.T) {
	// The names of vCenter's own CA have domain components.
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA", ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, Value: "local"},
	}}}, nil)
	other := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "other CA"}}, nil)
	oldCA := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "old CA"}, NotAfter: time.Now().Add(-time.Minute)}, nil)
	middle := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "middle"}, IsCA: true, BasicConstraintsValid: true}, &ca)
	leaf := func(by vcentertest.Issued, change func(*x509.Certificate)) vcentertest.Issued {
		template := x509.Certificate{Subject: pkix.Name{CommonName: "vc", Organization: []string{"a\nb"}}, IPAddresses: loopback}
		change(&template)
		return vcentertest.Issue(t, template, &by)
	}
	good := leaf(ca, func(*x509.Certificate) {})
	byMiddle := leaf(middle, func(*x509.Certificate) {})
	byOld := leaf(oldCA, func(*x509.Certificate) {})
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
	const unknown = "it is signed by an unknown CA: add the CA to caFile or caData, or set thumbprint to the fingerprint"
	const notPinned = "its fingerprint is not the configured thumbprint, and "
	sha1, sha256 := func(i vcentertest.Issued) string { return soap.ThumbprintSHA1(i.Cert) }, func(i vcentertest.Issued) string { return soap.ThumbprintSHA256(i.Cert) }
	for name, c := range map[string]struct {
		chain []vcentertest.Issued
		cfg   config.VCenter
		want  string // what is wrong, empty if it is trusted
	}{
		"its CA":                         {[]vcentertest.Issued{good}, config.VCenter{CA: ca.PEM()}, ""},
		"its CA among others":            {[]vcentertest.Issued{good}, config.VCenter{CA: append(other.PEM(), ca.PEM()...)}, ""},
		"its CA, another thumbprint":     {[]vcentertest.Issued{good}, config.VCenter{CA: ca.PEM(), Thumbprint: sha256(other)}, ""},
		"an intermediate":                {[]vcentertest.Issued{byMiddle, middle}, config.VCenter{CA: ca.PEM()}, ""},
		"SHA-1, expired":                 {[]vcentertest.Issued{expired}, config.VCenter{Thumbprint: sha1(expired)}, ""},
		"SHA-256, expired":               {[]vcentertest.Issued{expired}, config.VCenter{Thumbprint: sha256(expired)}, ""},
		"thumbprint, another CA":         {[]vcentertest.Issued{good}, config.VCenter{CA: other.PEM(), Thumbprint: sha256(good)}, ""},
		"insecure, expired":              {[]vcentertest.Issued{expired}, config.VCenter{Insecure: true}, ""},
		"insecure, another CA":           {[]vcentertest.Issued{good}, config.VCenter{CA: other.PEM(), Insecure: true}, ""},
		"another CA":                     {[]vcentertest.Issued{good, ca}, config.VCenter{CA: other.PEM()}, unknown},
		"the system's CAs":               {[]vcentertest.Issued{good, ca}, config.VCenter{}, unknown},
		"self-signed":                    {[]vcentertest.Issued{other}, config.VCenter{CA: ca.PEM()}, "it is for no host name or address, not for 127.0.0.1: "},
		"expired":                        {[]vcentertest.Issued{expired}, config.VCenter{CA: ca.PEM()}, "it expired on "},
		"not yet valid":                  {[]vcentertest.Issued{early}, config.VCenter{CA: ca.PEM()}, "it is not valid before "},
		"expired issuer":                 {[]vcentertest.Issued{byOld, oldCA}, config.VCenter{CA: oldCA.PEM()}, `the certificate "CN=old CA" above it expired on `},
		"another host":                   {[]vcentertest.Issued{elsewhere}, config.VCenter{CA: ca.PEM()}, `it is for "vc.example.com", 192.0.2.1, not for 127.0.0.1: `},
		"another host, by name":          {[]vcentertest.Issued{elsewhere}, config.VCenter{Server: "localhost", CA: ca.PEM()}, `it is for "vc.example.com", 192.0.2.1, not for localhost: `},
		"another host, other thumbprint": {[]vcentertest.Issued{elsewhere}, config.VCenter{CA: ca.PEM(), Thumbprint: sha256(other)}, notPinned + `it is for "vc.example.com"`},
		"many other hosts":               {[]vcentertest.Issued{many}, config.VCenter{CA: ca.PEM()}, `it is for "a", "b", "c", "d", "e", 2 more, not for 127.0.0.1: `},
		"no host":                        {[]vcentertest.Issued{nameless}, config.VCenter{CA: ca.PEM()}, "it is for no host name or address"},
		"for clients":                    {[]vcentertest.Issued{client}, config.VCenter{CA: ca.PEM()}, `it cannot be verified ("x509: certificate specifies an incompatible key usage")`},
		"SHA-256 of another":             {[]vcentertest.Issued{good}, config.VCenter{CA: other.PEM(), Thumbprint: sha256(other)}, notPinned + unknown},
		"SHA-1 of another":               {[]vcentertest.Issued{good}, config.VCenter{Thumbprint: sha1(other)}, notPinned + unknown},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := vcentertest.ServeChain(t, c.chain...)
			cfg := c.cfg
			cfg.Server, cfg.Port, cfg.User, cfg.Password, cfg.TrustAt = cmp.Or(cfg.Server, "127.0.0.1"), port, "me", config.NewPassword("made-up"), "vsphere.yaml:12: vcenter.east.caFile"
			err := tryLogin(t, &cfg)
			var untrusted *session.UntrustedError
			if c.want == "" {
				if err == nil || errors.As(err, &untrusted) || requests.Load() != 1 {
					t.Errorf("%d requests, %v", requests.Load(), err)
				}
				return
			}
			shown := c.chain[0].Cert
			if !errors.As(err, &untrusted) || !untrusted.Certificate.Equal(shown) || untrusted.Unwrap() == nil || requests.Load() != 0 {
				t.Fatalf("%d requests, %#v", requests.Load(), err)
			}
			offered := sha256(c.chain[0])
			if len(cfg.Thumbprint) == len(sha1(other)) {
				offered += ", SHA-1 " + sha1(c.chain[0])
			}
			for _, text := range []string{
				"connecting to " + cfg.Server + ":" + strconv.Itoa(port) + ": the certificate of " + cfg.Server + " is not trusted: " + c.want,
				" (vsphere.yaml:12: vcenter.east.caFile); offered SHA-256 " + offered + ", subject " + strconv.Quote(shown.Subject.String()) +
					", issuer " + strconv.Quote(credentials.DistinguishedName(shown.Issuer)) + ", valid from ",
			} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v\ndoes not say %s", err, text)
				}
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "made-up") {
				t.Errorf("the error %q has several lines or a secret", err)
			}
		})
	}
}

// TestNegativeSerial: old and private CAs have signed such certificates, which Go rejects by default.
func TestNegativeSerial(t *testing.T) {
	issued := vcentertest.Issue(t, x509.Certificate{IPAddresses: loopback}, nil)
	serial := issued.Cert.SerialNumber.Bytes()
	negative := slices.Clone(serial)
	negative[0] |= 0x80
	var signed struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(issued.Cert.Raw, &signed); err != nil {
		t.Fatal(err)
	}
	signed.Body = asn1.RawValue{FullBytes: bytes.Replace(signed.Body.FullBytes, serial, negative, 1)}
	digest := sha256.Sum256(signed.Body.FullBytes)
	signature, err := issued.Key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	signed.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	der, err := asn1.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	if issued.Cert, err = x509.ParseCertificate(der); err != nil || issued.Cert.SerialNumber.Sign() >= 0 {
		t.Fatalf("parsing a certificate with a negative serial number: %v, error %v", issued.Cert, err)
	}
	port, requests := vcentertest.ServeChain(t, issued)
	if err := tryLogin(t, &config.VCenter{Name: "east", Server: "127.0.0.1", Port: port, CA: issued.PEM(), User: "me"}); requests.Load() == 0 {
		t.Errorf("the server is not trusted: %v", err)
	}
}
