package session_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/parse"
	"vzones/test/page"
	"vzones/vcenter/credentials"
	"vzones/vcenter/vcentertest"
)

const trustPage = "docs/how-to/trust-a-vcenters-certificate.md"

// ofCertificates are what differs from one certificate to the next.
var ofCertificates = []page.Difference{
	{Pattern: regexp.MustCompile(`SHA-256 [0-9A-F:]{6}[0-9A-F:…]+`), Instead: "SHA-256 FINGERPRINT"},
	{Pattern: regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC`), Instead: "DATE"},
}

// configured returns the entry of a configuration that begins in the line that the page names.
func configured(t *testing.T, more string) config.VCenter {
	t.Helper()
	text := strings.Repeat("\n", 10) + "vcenter:\n  east:\n    server: 127.0.0.1\n    user: me\n    password: made-up\n" + more
	cfg, err := parse.Parse("vsphere.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg.VCenters[0]
}

// TestUntrustedIsDocumented: the how-to shows what is said of a certificate that is not trusted, with
// the addresses of a usual vCenter.
func TestUntrustedIsDocumented(t *testing.T) {
	component := asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25} // of a domain, as names of vCenter's own authority have
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: component, Value: "local"}, {Type: component, Value: "vsphere"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "CA"},
	}}}, nil)
	loopback := []net.IP{net.ParseIP("127.0.0.1")}
	own := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "vc.example.com", Country: []string{"US"}}, IPAddresses: loopback}, &ca)
	cfg := configured(t, "")
	cfg.Port, _ = vcentertest.Shows(t, own)
	err := tryLogin(t, &cfg)
	if err == nil {
		t.Fatal("the certificate is trusted")
	}
	said := strings.NewReplacer("127.0.0.1:"+strconv.Itoa(cfg.Port), "vc.example.com:443", "127.0.0.1", "vc.example.com").Replace(err.Error())
	page.Shows(t, trustPage, page.Outputs(t, trustPage, "Trust a vCenter's certificate")[0], said, ofCertificates...)
}

// TestUntrustedManagerIsDocumented: the same of a session manager.
func TestUntrustedManagerIsDocumented(t *testing.T) {
	_, vc, cfg := vcentertest.EastBehindFront(t)
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	own := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "sm"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}, &ca)
	port, requests := vcentertest.Shows(t, own)
	cfg.TrustAt, cfg.CA, cfg.Insecure = configured(t, "    insecureFlag: true\n").TrustAt, nil, true
	manager := "https://127.0.0.1:" + strconv.Itoa(port)
	shared := credentials.Credentials{SessionManagerURL: manager + "/session", SessionManagerToken: config.NewPassword("made-up-token")}
	s, err := open(t, &cfg, shared, 5*time.Second)
	if err == nil {
		closing(t, s)
		t.Fatal("the session manager is trusted")
	}
	if requests.Load() != 0 {
		t.Error("the token was sent")
	}
	host := strings.TrimPrefix(vc.URL, "https://")
	said := strings.NewReplacer(host, "vc.example.com:443", manager, "https://sm.example.com", "manager 127.0.0.1", "manager sm.example.com").Replace(err.Error())
	page.Shows(t, trustPage, page.Outputs(t, trustPage, "A session manager")[0], said, ofCertificates...)
}
