package session

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/vcentertest"
)

// TestTrustIsReplaced: a client accepts what was last said, whatever else becomes of
// the configuration.
func TestTrustIsReplaced(t *testing.T) {
	old := vcentertest.Issue(t, x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}, nil)
	port, requests := vcentertest.Shows(t, old)
	cfg := config.VCenter{Server: "127.0.0.1", Port: port, Thumbprint: soap.ThumbprintSHA1(old.Cert)}
	accept, err := newTrust(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := newSOAPClient(&cfg, accept, time.Second)
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

// TestWhenCertificatesEnd: what is told is when the vCenter is not trusted any more by
// what it shows: the end of what is first to end on the way to the authority. A pinned certificate
// is accepted after its end, and where any is accepted there is no such time either. That of
// another server or of a certificate that is not trusted is not told.
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
		// host is what is connected to, unless it is vc.example.com.
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
			trusted.ends = &atomic.Int64{}
			trusted.ends.Store(7)
			const host = "vc.example.com"
			cs := tls.ConnectionState{ServerName: host, PeerCertificates: []*x509.Certificate{c.shown.Cert}}
			switch c.server {
			case "":
			case "none":
				cs.ServerName = ""
			default:
				cs.ServerName = c.server
			}
			err = trusted.config(cmp.Or(c.host, host)).VerifyConnection(cs)
			if (err != nil) != c.fails {
				t.Error(err)
			}
			if got := time.Unix(trusted.ends.Load(), 0); !got.Equal(c.want) {
				t.Errorf("it ends %v, not %v", got, c.want)
			}
		})
	}
}

func TestCAWithoutCertificate(t *testing.T) {
	for file, want := range map[string]string{"/etc/ca.pem": "/etc/ca.pem", "": "caData"} {
		_, err := newTrust(&config.VCenter{CAFile: file, CA: []byte("no PEM")})
		if err == nil || err.Error() != want+" holds no PEM certificate" {
			t.Errorf("%v", err)
		}
	}
}
