package session

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
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
	"vzones/vcenter/credentials"
	"vzones/vcenter/rest"
	"vzones/vcenter/vcentertest"
)

// TestClonedSessionWithoutCookie: without it tags cannot be asked for.
func TestClonedSessionWithoutCookie(t *testing.T) {
	_, _, cfg := vcentertest.EastBehindFront(t)
	sc := clientOf(t, &cfg)
	api := &REST{endpoint: testEndpoint(&cfg), soap: sc, creds: credentials.Credentials{SessionManagerURL: "https://sm/"}}
	if err := api.With(t.Context(), func(*rest.Client) error { return nil }); err == nil || !strings.HasSuffix(err.Error(), "the session that was cloned has no cookie") {
		t.Errorf("%v", err)
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
			`it is for "sm.example.com", not for 127.0.0.1: write a name that it is for into the session manager's address; insecureFlag and thumbprint do not count for it`},
	} {
		t.Run(name, func(t *testing.T) {
			port, requests := vcentertest.Shows(t, c.shown)
			accept, err := newTrust(&c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			m := sessionManager{url: "https://127.0.0.1:" + strconv.Itoa(port), token: config.NewPassword("made-up-token")}
			_, err = m.ticket(t.Context(), accept, 5*time.Second)
			switch {
			case c.want == "" && (requests.Load() != 1 || err == nil || !strings.Contains(err.Error(), "not a JSON object")):
				t.Errorf("%d requests, %v", requests.Load(), err)
			case c.want != "" && (requests.Load() != 0 || err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
	// The vCenter is verified by the CA that is configured for it alone.
	port, requests := vcentertest.Shows(t, leaf)
	cfg := config.VCenter{Server: "127.0.0.1", Port: port, CA: private.PEM()}
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
	proxy := vcentertest.Issue(t, x509.Certificate{DNSNames: []string{"proxy.example.test"}}, nil)
	a := authority{vcenter: "east", insecure: true}
	err := a.verifyManager(tls.ConnectionState{ServerName: "proxy.example.test", PeerCertificates: []*x509.Certificate{proxy.Cert}}, "sm.example.com")
	if err == nil || !strings.HasPrefix(err.Error(), `the certificate of proxy.example.test, on the way to the session manager sm.example.com of vCenter "east", is not trusted, and it is not sent the token: `) {
		t.Error(err)
	}
}
