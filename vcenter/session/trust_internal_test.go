package session

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/rest"
	"vzones/vcenter/vcentertest"
)

// TestTrustIsReplaced checks that a client applies the last valid trust.
func TestTrustIsReplaced(t *testing.T) {
	old := vcentertest.Issue(t, x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}, nil)
	port, requests := vcentertest.ServeChain(t, old)
	cfg := config.VCenter{Server: "127.0.0.1", Port: port, Thumbprint: soap.ThumbprintSHA1(old.Cert)}
	accept, err := newTrust(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := newSOAPClient(&cfg, accept, time.Minute)
	defer c.Client.CloseIdleConnections()
	get := func() error {
		c.Client.CloseIdleConnections()
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

// clientOf returns a client with the configured trust.
func clientOf(t *testing.T, cfg *config.VCenter) *soap.Client {
	t.Helper()
	accept, err := newTrust(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return newSOAPClient(cfg, accept, time.Minute)
}

func TestShownIsBounded(t *testing.T) {
	if got := quoted(strings.Repeat("ä", 300) + "\n"); got != `"`+strings.Repeat("ä", 200)+`…"` {
		t.Error(got)
	}
	if got := quoted("a\nb\x00\xff\""); got != `"a\nb\x00�\""` {
		t.Error(got)
	}
}

func TestServerIsAnAddress(t *testing.T) {
	for server, want := range map[string]string{
		"vc.example.com": "https://vc.example.com:8443/sdk",
		"192.0.2.1":      "https://192.0.2.1:8443/sdk",
		"2001:db8::1":    "https://[2001:db8::1]:8443/sdk",
	} {
		c := clientOf(t, &config.VCenter{Server: server, Port: 8443})
		if c.URL().String() != want {
			t.Errorf("%s: %v, want %s", server, c.URL(), want)
		}
	}
}

// TestWhenCertificatesEnd: a chain expires with the first of its certificates. A pinned certificate is accepted after its
// expiry, so neither a thumbprint nor insecureFlag has an end. Other servers and untrusted certificates are ignored.
func TestWhenCertificatesEnd(t *testing.T) {
	day := 24 * time.Hour
	in := func(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Second) }
	template := func(ends time.Time) x509.Certificate {
		return x509.Certificate{NotAfter: ends, DNSNames: []string{"vc.example.com"}}
	}
	longRoot, shortRoot := vcentertest.Issue(t, template(in(1000*day)), nil), vcentertest.Issue(t, template(in(5*day)), nil)
	leafOfLong := vcentertest.Issue(t, template(in(30*day)), &longRoot)
	leafOfShort := vcentertest.Issue(t, template(in(30*day)), &shortRoot)
	for name, c := range map[string]struct {
		cfg   config.VCenter
		shown vcentertest.Issued
		// host is the server, vc.example.com if empty.
		host, server string
		want         time.Time
		fails        bool
	}{
		"the leaf":         {cfg: config.VCenter{CA: longRoot.PEM()}, shown: leafOfLong, want: leafOfLong.Cert.NotAfter},
		"the authority":    {cfg: config.VCenter{CA: shortRoot.PEM()}, shown: leafOfShort, want: shortRoot.Cert.NotAfter},
		"with a final dot": {cfg: config.VCenter{CA: longRoot.PEM()}, shown: leafOfLong, host: "vc.example.com.", want: leafOfLong.Cert.NotAfter},
		"by address":       {cfg: config.VCenter{CA: longRoot.PEM()}, shown: leafOfLong, server: "none", want: leafOfLong.Cert.NotAfter},
		"pinned":           {cfg: config.VCenter{Thumbprint: soap.ThumbprintSHA256(leafOfLong.Cert)}, shown: leafOfLong, want: time.Unix(0, 0)},
		"insecure":         {cfg: config.VCenter{Insecure: true}, shown: leafOfLong, want: time.Unix(0, 0)},
		"another server's": {cfg: config.VCenter{Insecure: true}, shown: leafOfLong, server: "sso.example.com", want: time.Unix(7, 0)},
		"untrusted":        {cfg: config.VCenter{CA: longRoot.PEM()}, shown: leafOfShort, want: time.Unix(7, 0), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			trusted, err := newTrust(&c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			trusted.expiry = &atomic.Int64{}
			trusted.expiry.Store(7)
			const host = "vc.example.com"
			cs := tls.ConnectionState{ServerName: host, PeerCertificates: []*x509.Certificate{c.shown.Cert}}
			switch c.server {
			case "":
			case "none":
				cs.ServerName = ""
			default:
				cs.ServerName = c.server
			}
			err = trusted.tlsConfig(cmp.Or(c.host, host)).VerifyConnection(cs)
			if (err != nil) != c.fails {
				t.Error(err)
			}
			if got := time.Unix(trusted.expiry.Load(), 0); !got.Equal(c.want) {
				t.Errorf("it ends %v, not %v", got, c.want)
			}
		})
	}
}

func TestCAWithoutCertificate(t *testing.T) {
	for file, want := range map[string]string{"/etc/ca.pem": "/etc/ca.pem", "": "caData"} {
		_, err := newTrust(&config.VCenter{CAFile: file, CA: []byte("no PEM")})
		if err == nil || err.Error() != want+" contains no PEM certificate" {
			t.Errorf("newTrust with a CA that is no PEM: error %v, want %q", err, want+" contains no PEM certificate")
		}
	}
}

func TestClonedSessionWithoutCookie(t *testing.T) {
	_, _, cfg := vcentertest.EastBehindFront(t)
	sc := clientOf(t, &cfg)
	api := &REST{endpoint: testEndpoint(&cfg), soap: sc, creds: credentials.Credentials{SessionManagerURL: "https://sm/"}}
	if err := api.With(t.Context(), func(*rest.Client) error { return nil }); err == nil || !strings.HasSuffix(err.Error(), "the cloned session has no cookie") {
		t.Errorf("a call through a cloned session without a cookie: error %v, want one that tells that the cookie is missing", err)
	}
}

// TestSessionManagerOfTheSystem checks that a session manager with a certificate of a system CA is trusted with and
// without a configured CA. Go reads the system's CAs once in a process, so the test starts itself again.
func TestSessionManagerOfTheSystem(t *testing.T) {
	const roots = "SSL_CERT_FILE"
	if os.Getenv("VZONES_TEST_ROOTS") == "" {
		file := filepath.Join(t.TempDir(), "roots.pem")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSessionManagerOfTheSystem$", "-test.v")
		cmd.Env = append(os.Environ(), "VZONES_TEST_ROOTS=1", roots+"="+file, "SSL_CERT_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestSessionManagerOfTheSystem/") {
			t.Fatalf("the test in a process of its own: error %v, want a test that passes; its output:\n%s", err, out)
		}
		return
	}
	ca := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "public CA"}}, nil)
	if err := os.WriteFile(os.Getenv(roots), ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	leaf := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "sessions"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}, &ca)
	elsewhere := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "sessions"}, DNSNames: []string{"sm.example.com"}}, &ca)
	private := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "our CA"}}, nil)
	for name, c := range map[string]struct {
		shown vcentertest.Issued
		cfg   config.VCenter
		want  string // in the error; the server answers without a ticket
	}{
		"no CA":                      {leaf, config.VCenter{}, ""},
		"a private CA":               {leaf, config.VCenter{CA: private.PEM()}, ""},
		"a private CA, insecureFlag": {leaf, config.VCenter{CA: private.PEM(), Insecure: true}, ""},
		"a thumbprint of another":    {leaf, config.VCenter{Thumbprint: soap.ThumbprintSHA256(private.Cert)}, ""},
		"another host": {elsewhere, config.VCenter{Name: "east", Insecure: true},
			`it is for "sm.example.com", not for 127.0.0.1: set the session manager's address to a name in the certificate; insecureFlag and thumbprint do not apply to it`},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := vcentertest.ServeChain(t, c.shown)
			accept, err := newTrust(&c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			m := sessionManager{url: "https://127.0.0.1:" + strconv.Itoa(port), token: config.NewPassword("made-up-token")}
			_, err = m.ticket(t.Context(), accept, 30*time.Second)
			switch {
			case c.want == "" && (requests.Load() != 1 || err == nil || !strings.Contains(err.Error(), "not a JSON object")):
				t.Errorf("%d requests, %v", requests.Load(), err)
			case c.want != "" && (requests.Load() != 0 || err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
	// Only the configured CA verifies the vCenter.
	port, requests := vcentertest.ServeChain(t, leaf)
	cfg := config.VCenter{Server: "127.0.0.1", Port: port, CA: private.PEM()}
	res, err := clientOf(t, &cfg).Get("https://127.0.0.1:" + strconv.Itoa(port))
	if err == nil {
		_ = res.Body.Close()
	}
	if err == nil || requests.Load() != 0 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

// TestProxyBeforeASessionManager checks that a TLS proxy is verified like the session manager, and that the error tells
// which of the two failed.
func TestProxyBeforeASessionManager(t *testing.T) {
	proxy := vcentertest.Issue(t, x509.Certificate{DNSNames: []string{"proxy.example.test"}}, nil)
	a := trustSettings{vcenter: "east", insecure: true}
	err := a.verifyManager(tls.ConnectionState{ServerName: "proxy.example.test", PeerCertificates: []*x509.Certificate{proxy.Cert}}, "sm.example.com")
	if err == nil || !strings.HasPrefix(err.Error(), `the certificate of proxy.example.test, on the way to the session manager sm.example.com of vCenter "east", is not trusted, so the token is not sent: `) {
		t.Error(err)
	}
}
