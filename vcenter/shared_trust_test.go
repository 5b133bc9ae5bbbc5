package vcenter

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/session"
)

// offered is how an error tells a certificate.
func offered(c *x509.Certificate) string {
	return "offered subject " + strconv.Quote(c.Subject.String()) + ", issuer " + strconv.Quote(c.Issuer.String()) +
		", valid from " + day(c.NotBefore) + " until " + day(c.NotAfter) + ", SHA-256 " + soap.ThumbprintSHA256(c)
}

// TestSessionManagerIsVerified: it is sent a token, which no insecureFlag and no
// thumbprint, both of them the vCenter's, may give to somebody else.
func TestSessionManagerIsVerified(t *testing.T) {
	_, vc, cfg := eastBehindFront(t)
	manager, both := tickets(t, cfg)
	own := manager.cert.cert
	cfg.TrustAt = "vsphere.yaml:9: vcenter.east.caFile"
	host := strings.TrimPrefix(vc.URL, "https://")
	refused := "logging in to " + host + " as a session of " + manager.URL + "/session: the certificate of the session manager 127.0.0.1 of vCenter \"east\" " +
		"is not trusted, and it is not sent the token: " + offered(own) +
		"; it is signed by an unknown authority: write its CA into caFile or caData, which count for a session manager besides the system's authorities"
	const (
		at      = " (vsphere.yaml:9: vcenter.east.caFile)"
		neither = "; insecureFlag does not count for it"
	)
	for name, c := range map[string]struct {
		change func(*config.VCenter)
		want   string // empty for a login
	}{
		"insecureFlag":                {func(c *config.VCenter) { c.CA, c.Insecure = nil, true }, refused + neither + at},
		"insecureFlag, another CA":    {func(c *config.VCenter) { c.Insecure = true }, refused + neither + at},
		"insecureFlag, its CA":        {func(c *config.VCenter) { c.CA, c.Insecure = manager.cert.pem(), true }, ""},
		"its fingerprint":             {func(c *config.VCenter) { c.Thumbprint = soap.ThumbprintSHA256(own) }, refused + "; thumbprint does not count for it" + at},
		"insecureFlag and thumbprint": {func(c *config.VCenter) { c.Insecure, c.Thumbprint = true, soap.ThumbprintSHA1(own) }, refused + "; insecureFlag and thumbprint do not count for it" + at},
		"another CA":                  {func(*config.VCenter) {}, refused + at},
		"its CA":                      {func(c *config.VCenter) { c.CA = both.CA }, ""},
		"its CA and a thumbprint":     {func(c *config.VCenter) { c.CA, c.Thumbprint = manager.cert.pem(), soap.ThumbprintSHA256(vc.cert.cert) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(manager.requests("/", ""))
			cfg := cfg
			c.change(&cfg)
			s, err := login(t.Context(), &cfg, shared(manager), callsWithin(5*time.Second, 3))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				ending(t, s)
				return
			}
			if n := len(manager.requests("/", "")) - before; n != 0 {
				t.Errorf("%d requests with the token", n)
			}
			if err == nil {
				ending(t, s)
				t.Fatal("the session manager is trusted")
			}
			var untrusted *UntrustedError
			if err.Error() != c.want || !errors.As(err, &untrusted) || errors.Is(err, session.ErrRejected) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestSessionManagerOfTheSystem: one whose certificate a public authority has signed
// is trusted with and without a CA that is configured for the vCenter. The system's
// authorities are read once in a process, so this one is started again.
func TestSessionManagerOfTheSystem(t *testing.T) {
	const roots = "SSL_CERT_FILE"
	if os.Getenv("VZONES_TEST_ROOTS") == "" {
		file := filepath.Join(t.TempDir(), "roots.pem")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSessionManagerOfTheSystem$", "-test.v")
		cmd.Env = append(os.Environ(), "VZONES_TEST_ROOTS=1", roots+"="+file, "SSL_CERT_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestSessionManagerOfTheSystem/") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	ca := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "public CA"}}, nil)
	if err := os.WriteFile(os.Getenv(roots), ca.pem(), 0o600); err != nil {
		t.Fatal(err)
	}
	leaf := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "sessions"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}, &ca)
	elsewhere := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "sessions"}, DNSNames: []string{"sm.example.com"}}, &ca)
	private := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	for name, c := range map[string]struct {
		shown issued
		cfg   config.VCenter
		want  string // in the error; the server answers without a ticket
	}{
		"no CA":                      {leaf, config.VCenter{}, ""},
		"a private CA":               {leaf, config.VCenter{CA: private.pem()}, ""},
		"a private CA, insecureFlag": {leaf, config.VCenter{CA: private.pem(), Insecure: true}, ""},
		"a thumbprint of another":    {leaf, config.VCenter{Thumbprint: soap.ThumbprintSHA256(private.cert)}, ""},
		"another host": {elsewhere, config.VCenter{Name: "east", Insecure: true},
			`it is for "sm.example.com", not for 127.0.0.1: write a name that it is for into the session manager's address; insecureFlag does not count for it`},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := shows(t, c.shown)
			accept, err := newTrust(&c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			m := sessionManager{url: "https://127.0.0.1:" + strconv.Itoa(port), token: config.NewPassword("made-up-token")}
			_, err = m.ticket(t.Context(), accept, callsWithin(5*time.Second, 1))
			switch {
			case c.want == "" && (requests.Load() != 1 || err == nil || !strings.Contains(err.Error(), "no JSON object")):
				t.Errorf("%d requests, %v", requests.Load(), err)
			case c.want != "" && (requests.Load() != 0 || err == nil || !strings.HasSuffix(err.Error(), c.want)):
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
	// The vCenter is verified by the CA that is configured for it alone.
	port, requests := shows(t, leaf)
	cfg := config.VCenter{Server: "127.0.0.1", Port: port, CA: private.pem()}
	res, err := clientOf(t, &cfg).Get("https://127.0.0.1:" + strconv.Itoa(port))
	if err == nil {
		_ = res.Body.Close()
	}
	if err == nil || requests.Load() != 0 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

// TestProxyBeforeASessionManager: a proxy that is spoken to with TLS is verified as
// the session manager is, and the error tells which of the two it was.
func TestProxyBeforeASessionManager(t *testing.T) {
	proxy := issue(t, x509.Certificate{DNSNames: []string{"proxy.example.test"}}, nil)
	a := authority{vcenter: "east", insecure: true}
	err := a.verifyManager(tls.ConnectionState{ServerName: "proxy.example.test", PeerCertificates: []*x509.Certificate{proxy.cert}}, "sm.example.com")
	if err == nil || !strings.HasPrefix(err.Error(), `the certificate of proxy.example.test, on the way to the session manager sm.example.com of vCenter "east", is not trusted, and it is not sent the token: `) {
		t.Error(err)
	}
}
