package session

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
)

// An UntrustedError says that a server has shown a certificate that is not
// trusted. Nothing was sent to it.
type UntrustedError struct {
	// Server is what was connected to, a host name or an address.
	Server string
	// Certificate is what it has shown.
	Certificate *x509.Certificate
	// TrustAt is where it is configured what to trust; it may be empty.
	TrustAt string

	thumbprint string // the configured one
	err        error  // of package x509
	// manager is set if it was to be a session manager.
	manager *managerTrust
}

// Error tells the certificate, what is wrong with it and what to write, in one
// line.
func (e *UntrustedError) Error() string {
	c := e.Certificate
	fingerprint := "SHA-256 " + soap.ThumbprintSHA256(c)
	if e.manager == nil && e.thumbprint != "" && len(e.thumbprint) < len(soap.ThumbprintSHA256(c)) {
		fingerprint += ", SHA-1 " + soap.ThumbprintSHA1(c)
	}
	other := ""
	if e.manager == nil && e.thumbprint != "" {
		other = "its fingerprint is not the configured thumbprint, and "
	}
	at := ""
	if e.TrustAt != "" {
		at = " (" + e.TrustAt + ")"
	}
	return fmt.Sprintf("the certificate of %s: offered subject %s, issuer %s, valid from %s until %s, %s; %s%s%s",
		e.distrusted(), shown(c.Subject.String()), shown(c.Issuer.String()), day(c.NotBefore), day(c.NotAfter), fingerprint, other, e.reason(time.Now()), at)
}

// Unwrap returns the error of package x509.
func (e *UntrustedError) Unwrap() error { return e.err }

// distrusted says whose certificate it is, and what that means.
func (e *UntrustedError) distrusted() string {
	if e.manager == nil {
		return e.Server + " is not trusted"
	}
	return e.manager.describe(e.Server) + " is not trusted, and it is not sent the token"
}

// reason says what is wrong and what to do.
func (e *UntrustedError) reason(now time.Time) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	name, pin, note := "server", ", or the fingerprint into thumbprint", ""
	if e.manager != nil {
		name, pin, note = "the session manager's address", "", e.manager.note()
	}
	switch {
	case errors.As(e.err, &authority):
		beside := ""
		if e.manager != nil {
			beside = ", which count for a session manager besides the system's authorities"
		}
		return "it is signed by an unknown authority: write its CA into caFile or caData" + pin + beside + note
	case errors.As(e.err, &host):
		return "it is for " + e.names() + ", not for " + e.Server + ": write a name that it is for into " + name + pin + note
	case errors.As(e.err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		which := "it"
		if !invalid.Cert.Equal(e.Certificate) {
			which = "the certificate " + shown(invalid.Cert.Subject.String()) + " above it"
		}
		if now.Before(invalid.Cert.NotBefore) {
			return which + " is not valid before " + day(invalid.Cert.NotBefore) + ": look at the clocks of the server and of this machine" + note
		}
		return which + " has expired on " + day(invalid.Cert.NotAfter) + ": renew it on the server" + note
	}
	return "it cannot be verified (" + shown(e.err.Error()) + "): write another CA into caFile or caData" + pin + note
}

// names lists what the certificate is for.
func (e *UntrustedError) names() string {
	const most = 5
	var names []string
	for _, n := range e.Certificate.DNSNames {
		names = append(names, shown(n))
	}
	for _, ip := range e.Certificate.IPAddresses {
		names = append(names, ip.String())
	}
	switch n := len(names) - most; {
	case len(names) == 0:
		return "no host name or address at all"
	case n > 0:
		names = append(names[:most], strconv.Itoa(n)+" more")
	}
	return strings.Join(names, ", ")
}

// shown quotes what a server says of itself: any length, any characters.
func shown(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// trust is what certificates of servers are accepted. What that is can be changed
// while clients use it; it counts for connections made from then on.
type trust struct {
	now atomic.Pointer[authority]
	// ends gets until when what the vCenter shows is valid, in seconds since 1970; 0
	// where that does not matter. It may be nil.
	ends *atomic.Int64
}

// authority is a trust as it is configured at one time.
type authority struct {
	vcenter             string // the name of its entry
	insecure            bool
	thumbprint, trustAt string
	ca                  []byte // PEM; empty stands for the system's authorities
	roots               *x509.CertPool
}

// newTrust returns the trust that is configured for a vCenter.
func newTrust(cfg *config.VCenter) (*trust, error) {
	t := &trust{}
	return t, t.set(cfg)
}

// set replaces what is accepted. An error leaves it as it was.
func (t *trust) set(cfg *config.VCenter) error {
	a := &authority{vcenter: cfg.Name, insecure: cfg.Insecure, thumbprint: cfg.Thumbprint, trustAt: cfg.TrustAt, ca: cfg.CA}
	if len(cfg.CA) > 0 {
		a.roots = x509.NewCertPool()
		if !a.roots.AppendCertsFromPEM(cfg.CA) {
			where := cfg.CAFile
			if where == "" {
				where = "caData"
			}
			return fmt.Errorf("%s holds no PEM certificate", where)
		}
	}
	t.now.Store(a)
	return nil
}

// config verifies servers by the configured CA or the system's. A configured
// thumbprint accepts a certificate besides those, as it does in the incumbent.
// Host is what is connected to by default.
func (t *trust) config(host string) *tls.Config {
	return verifying(func(cs tls.ConnectionState) error {
		ends, err := t.now.Load().verify(cs, host)
		// Token services and proxies have names of their own. A connection's has no final dot.
		if err == nil && t.ends != nil && (cs.ServerName == "" || cs.ServerName == strings.TrimSuffix(host, ".")) {
			t.ends.Store(ends)
		}
		return err
	})
}

// verifying returns a configuration with a verification of ours. The standard one can
// neither be asked to pass one certificate nor say what was wrong with another.
func verifying(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // see VerifyConnection
		VerifyConnection:   verify,
	}
}

// verify returns until when what it has verified is trusted, in seconds since 1970, 0 if for
// ever. It takes a host from the caller where the server was called by an IP address: the
// connection's ServerName is empty then, and an empty name is not compared. Whoever else is
// connected to by an address (a token service, a proxy) has to show a certificate for that
// host too.
func (a *authority) verify(cs tls.ConnectionState, host string) (int64, error) {
	leaf := cs.PeerCertificates[0]
	switch {
	case a.insecure, accepted(leaf, a.thumbprint): // after its end too
		return 0, nil
	}
	return a.chain(cs, host, a.roots, nil)
}

// chain verifies what a server has shown by roots, nil for the system's. It returns until
// when the chain of certificates is valid that is so for the longest.
func (a *authority) chain(cs tls.ConnectionState, host string, roots *x509.CertPool, manager *managerTrust) (int64, error) {
	if cs.ServerName != "" {
		host = cs.ServerName
	}
	leaf, intermediates := cs.PeerCertificates[0], x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates})
	if err != nil {
		return 0, &UntrustedError{Server: host, Certificate: leaf, TrustAt: a.trustAt, thumbprint: a.thumbprint, err: err, manager: manager}
	}
	var longest int64
	for _, chain := range chains {
		ends := leaf.NotAfter
		for _, c := range chain {
			if c.NotAfter.Before(ends) {
				ends = c.NotAfter
			}
		}
		longest = max(longest, ends.Unix())
	}
	return longest, nil
}

func accepted(c *x509.Certificate, thumbprint string) bool {
	return thumbprint != "" && (thumbprint == soap.ThumbprintSHA1(c) || thumbprint == soap.ThumbprintSHA256(c))
}
