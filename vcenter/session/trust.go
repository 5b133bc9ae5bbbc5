package session

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
)

// A trust decides which certificates of servers are accepted. It can be changed while
// clients use it, and counts for connections made from then on.
type trust struct {
	now atomic.Pointer[authority]
	// ends gets until when what the vCenter shows is valid, in seconds since 1970; 0
	// where that does not matter. It may be nil.
	ends *atomic.Int64
}

// An authority is a trust as it is configured at one time.
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

// verifying returns a configuration with its own verification: the standard one can
// neither accept a single certificate nor report what is wrong with another.
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
	return a.chain(cs, host, a.roots)
}

// chain verifies what a server has shown by roots, nil for the system's. It returns until
// when it is trusted: the end of the chain of certificates that is valid for the longest.
func (a *authority) chain(cs tls.ConnectionState, host string, roots *x509.CertPool) (int64, error) {
	if cs.ServerName != "" {
		host = cs.ServerName
	}
	leaf := cs.PeerCertificates[0]
	intermediates := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates})
	if err != nil {
		return 0, &UntrustedError{Server: host, Certificate: leaf, TrustAt: a.trustAt, thumbprint: a.thumbprint, err: err}
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

// forManager verifies a session manager, always, since it is sent a bearer token: by
// the system's authorities and the configured ones. insecureFlag and thumbprint are
// about the vCenter's certificate: neither decides who may get the token.
func (t *trust) forManager(host string) *tls.Config {
	return verifying(func(cs tls.ConnectionState) error { return t.now.Load().verifyManager(cs, host) })
}

func (a *authority) verifyManager(cs tls.ConnectionState, host string) error {
	roots := a.roots
	if roots != nil {
		if system, err := x509.SystemCertPool(); err == nil { // without them the configured ones are left
			system.AppendCertsFromPEM(a.ca)
			roots = system
		}
	}
	_, err := a.chain(cs, host, roots)
	var untrusted *UntrustedError
	if errors.As(err, &untrusted) {
		untrusted.manager = "the session manager " + host + " of vCenter " + strconv.Quote(a.vcenter)
		if untrusted.Server != strings.TrimSuffix(host, ".") { // a proxy that is spoken to with TLS
			untrusted.manager = untrusted.Server + ", on the way to " + untrusted.manager + ","
		}
		if a.insecure || a.thumbprint != "" {
			untrusted.note = "; insecureFlag and thumbprint do not count for it"
		}
	}
	return err
}
