package vcenter

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
)

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
	longRoot, shortRoot := issue(t, template(in(1000*day)), nil), issue(t, template(in(5*day)), nil)
	leafOfLong := issue(t, template(in(30*day)), &longRoot)
	leafOfShort := issue(t, template(in(30*day)), &shortRoot)
	for name, c := range map[string]struct {
		cfg   config.VCenter
		shown issued
		// host is what is connected to, unless it is vc.example.com.
		host, server string
		want         time.Time
		fails        bool
	}{
		"the leaf":         {cfg: config.VCenter{CA: longRoot.pem()}, shown: leafOfLong, want: leafOfLong.cert.NotAfter},
		"the authority":    {cfg: config.VCenter{CA: shortRoot.pem()}, shown: leafOfShort, want: shortRoot.cert.NotAfter},
		"with a final dot": {cfg: config.VCenter{CA: longRoot.pem()}, shown: leafOfLong, host: "vc.example.com.", want: leafOfLong.cert.NotAfter},
		"by address":       {cfg: config.VCenter{CA: longRoot.pem()}, shown: leafOfLong, server: "none", want: leafOfLong.cert.NotAfter},
		"pinned":           {cfg: config.VCenter{Thumbprint: soap.ThumbprintSHA256(leafOfLong.cert)}, shown: leafOfLong, want: time.Unix(0, 0)},
		"insecure":         {cfg: config.VCenter{Insecure: true}, shown: leafOfLong, want: time.Unix(0, 0)},
		"another server's": {cfg: config.VCenter{Insecure: true}, shown: leafOfLong, server: "sso.example.com", want: time.Unix(7, 0)},
		"untrusted":        {cfg: config.VCenter{CA: longRoot.pem()}, shown: leafOfShort, want: time.Unix(7, 0), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			trusted, err := newTrust(&c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			trusted.ends = &atomic.Int64{}
			trusted.ends.Store(7)
			const host = "vc.example.com"
			cs := tls.ConnectionState{ServerName: host, PeerCertificates: []*x509.Certificate{c.shown.cert}}
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
