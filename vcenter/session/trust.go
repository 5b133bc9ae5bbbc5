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

// A trust decides which certificates new connections accept.
type trust struct {
	current atomic.Pointer[trustSettings]
	// expiry receives the expiry of the vCenter's certificate in Unix seconds. May be nil.
	expiry *atomic.Int64
}

type trustSettings struct {
	vcenter             string
	insecure            bool
	thumbprint, trustAt string
	ca                  []byte // PEM; empty means the system's CAs
	roots               *x509.CertPool
}

func newTrust(cfg *config.VCenter) (*trust, error) {
	t := &trust{}
	return t, t.set(cfg)
}

func (t *trust) set(cfg *config.VCenter) error {
	a := &trustSettings{vcenter: cfg.Name, insecure: cfg.Insecure, thumbprint: cfg.Thumbprint, trustAt: cfg.TrustAt, ca: cfg.CA}
	if len(cfg.CA) > 0 {
		a.roots = x509.NewCertPool()
		if !a.roots.AppendCertsFromPEM(cfg.CA) {
			where := cfg.CAFile
			if where == "" {
				where = "caData"
			}
			return fmt.Errorf("%s contains no PEM certificate", where)
		}
	}
	t.current.Store(a)
	return nil
}

// tlsConfig accepts the configured thumbprint besides the configured or the system's CAs, as the CPI does.
func (t *trust) tlsConfig(host string) *tls.Config {
	return verifying(func(cs tls.ConnectionState) error {
		expiry, err := t.current.Load().verify(cs, host)
		// Skip token services and proxies, which have other names. ServerName has no trailing dot.
		if err == nil && t.expiry != nil && (cs.ServerName == "" || cs.ServerName == strings.TrimSuffix(host, ".")) {
			t.expiry.Store(expiry)
		}
		return err
	})
}

// verifying replaces the standard verification, which can neither accept a pinned certificate nor report a rejected
// one.
func verifying(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // see VerifyConnection
		VerifyConnection:   verify,
	}
}

// verify returns the expiry in Unix seconds, 0 if there is none. Any server called by IP address needs a certificate
// for host, because its ServerName is empty.
func (a *trustSettings) verify(cs tls.ConnectionState, host string) (int64, error) {
	leaf := cs.PeerCertificates[0]
	switch {
	case a.insecure, matchesThumbprint(leaf, a.thumbprint):
		return 0, nil
	}
	return a.chain(cs, host, a.roots)
}

// chain returns the latest expiry of a valid chain. Nil roots are the system's CAs.
func (a *trustSettings) chain(cs tls.ConnectionState, host string, roots *x509.CertPool) (int64, error) {
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

func matchesThumbprint(c *x509.Certificate, thumbprint string) bool {
	return thumbprint != "" && (thumbprint == soap.ThumbprintSHA1(c) || thumbprint == soap.ThumbprintSHA256(c))
}

// managerTLSConfig always verifies a session manager, which receives a bearer token, against the system's CAs and the
// configured CA.
func (t *trust) managerTLSConfig(host string) *tls.Config {
	return verifying(func(cs tls.ConnectionState) error { return t.current.Load().verifyManager(cs, host) })
}

func (a *trustSettings) verifyManager(cs tls.ConnectionState, host string) error {
	roots := a.roots
	if roots != nil {
		if system, err := x509.SystemCertPool(); err == nil {
			system.AppendCertsFromPEM(a.ca)
			roots = system
		}
	}
	_, err := a.chain(cs, host, roots)
	var untrusted *UntrustedError
	if errors.As(err, &untrusted) {
		untrusted.manager = "the session manager " + host + " of vCenter " + strconv.Quote(a.vcenter)
		if untrusted.Server != strings.TrimSuffix(host, ".") { // a TLS proxy
			untrusted.manager = untrusted.Server + ", on the way to " + untrusted.manager + ","
		}
		if a.insecure || a.thumbprint != "" {
			untrusted.note = "; insecureFlag and thumbprint do not apply to it"
		}
	}
	return err
}
