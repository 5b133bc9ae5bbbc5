package vcenter

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
)

// newSOAPClient prepares a client; it contacts nothing.
func newSOAPClient(cfg *config.VCenter, timeout time.Duration) (*soap.Client, error) {
	u := &url.URL{
		Scheme: "https",
		Host:   net.JoinHostPort(cfg.Server, strconv.Itoa(cfg.Port)),
		Path:   vim25.Path,
	}
	trust, err := tlsConfig(cfg)
	if err != nil {
		return nil, err
	}
	c := soap.NewClient(u, cfg.Insecure)
	c.UserAgent = "vzones"
	t := c.DefaultTransport()
	// govmomi's own dial function takes no notice of the context, so a vCenter
	// that accepts connections and then says nothing would keep it for ever.
	t.DialTLSContext = nil
	t.DialContext = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = timeout
	t.TLSClientConfig = trust
	return c, nil
}

// tlsConfig verifies the server by the configured CA or the system's. A
// configured thumbprint accepts its certificate besides those, as it does in
// the incumbent.
func tlsConfig(cfg *config.VCenter) (*tls.Config, error) {
	if cfg.Insecure {
		return &tls.Config{InsecureSkipVerify: true}, nil //nolint:gosec // the configuration asks for it
	}
	tc := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(cfg.CA) > 0 {
		tc.RootCAs = x509.NewCertPool()
		if !tc.RootCAs.AppendCertsFromPEM(cfg.CA) {
			return nil, fmt.Errorf("%s holds no PEM certificate", cfg.CAFile)
		}
	}
	if cfg.Thumbprint != "" {
		// The standard verification cannot be asked to pass one certificate,
		// so it is done by hand when the thumbprint does not match.
		tc.InsecureSkipVerify = true
		roots := tc.RootCAs
		tc.VerifyConnection = func(cs tls.ConnectionState) error {
			return verify(cs, cfg, roots)
		}
	}
	return tc, nil
}

// verify takes the server's address from the configuration: the connection's
// ServerName is empty for an IP address, and an empty name is not compared.
func verify(cs tls.ConnectionState, cfg *config.VCenter, roots *x509.CertPool) error {
	leaf := cs.PeerCertificates[0]
	if cfg.Thumbprint == soap.ThumbprintSHA1(leaf) || cfg.Thumbprint == soap.ThumbprintSHA256(leaf) {
		return nil
	}
	intermediates := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: cfg.Server, Roots: roots, Intermediates: intermediates})
	if err != nil {
		return fmt.Errorf("the certificate's thumbprint is %s (SHA-256), not the configured one, and: %w",
			soap.ThumbprintSHA256(leaf), err)
	}
	return nil
}
