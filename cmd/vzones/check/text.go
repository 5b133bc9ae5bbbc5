package check

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/cmd/vzones/internal/preflight"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/credentials"
)

// named names an object without its vCenter, which findings show apart.
func named(o *topology.Object) string { return topology.Named([]*topology.Object{o}) }

// the names a vCenter as an object.
func the(vcenter string) string { return "vCenter " + quote.Plain(vcenter) }

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func through(r *preflight.Report) string {
	if r.Proxy == "" {
		return ""
	}
	return " (through the proxy " + quote.Plain(r.Proxy) + ")"
}

// plain returns the text of an error without the name of the vCenter before it, which is shown apart.
func plain(name string, err error) string {
	return quote.Line(strings.TrimPrefix(err.Error(), fmt.Sprintf("vCenter %q: ", name)))
}

// offered names the certificate that a vCenter has shown.
func offered(c *x509.Certificate) string {
	if c == nil {
		return "no certificate was seen"
	}
	return fmt.Sprintf("offered SHA-256 %s, subject %s, for %s, valid until %s",
		soap.ThumbprintSHA256(c), quote.Value(credentials.DistinguishedName(c.Subject)), names(c), day(c.NotAfter))
}

// names lists what a certificate is for.
func names(c *x509.Certificate) string {
	var all []string
	for _, n := range c.DNSNames {
		all = append(all, quote.Value(n))
	}
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return quote.Some(all, quote.Most)
}

func day(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }
