package fleet

import (
	"crypto/ecdsa"
	"crypto/tls"
	"slices"
	"sync"
	"time"
)

type identity struct {
	mu   sync.Mutex
	name string
	cert tls.Certificate
	pem  []byte
}

func (i *identity) renew(address string, keepKey bool) error {
	return i.renewFor(address, keepKey, validity)
}

func (i *identity) renewFor(address string, keepKey bool, validity time.Duration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var key *ecdsa.PrivateKey
	if keepKey {
		key, _ = i.cert.PrivateKey.(*ecdsa.PrivateKey)
	}
	cert, pem, err := newCertificate(i.name, address, key, validity)
	if err == nil {
		i.cert = cert
		i.pem = pem
	}
	return err
}

func (i *identity) current() (tls.Certificate, []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.cert, slices.Clone(i.pem)
}

// config returns a TLS configuration that always uses the current certificate.
func (i *identity) config() *tls.Config {
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, _ := i.current()
		return &cert, nil
	}}
}

// RenewCertificate replaces the vCenter's key and certificate and closes its connections, so that
// clients see the change. Sessions stay.
func (v *VCenter) RenewCertificate() error {
	if err := v.identity.renew(v.Host(), false); err != nil {
		return err
	}
	v.server.stop()
	return v.server.start()
}

// EndCertificate is RenewCertificate with a certificate that expires after the given time.
func (v *VCenter) EndCertificate(lifetime time.Duration) error {
	if err := v.identity.renewFor(v.Host(), false, lifetime); err != nil {
		return err
	}
	v.server.stop()
	return v.server.start()
}

// SetAddress moves the vCenter to another loopback IPv4 address and a new port. The certificate
// for the new address verifies with the old certificate as CA. Sessions stay.
func (v *VCenter) SetAddress(address string) error {
	if err := v.identity.renew(address, true); err != nil {
		return err
	}
	if err := v.server.move(address); err != nil {
		return err
	}
	return v.server.start()
}
