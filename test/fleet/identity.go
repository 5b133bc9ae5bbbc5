package fleet

import (
	"crypto/ecdsa"
	"crypto/tls"
	"slices"
	"sync"
	"time"
)

// An identity is the certificate that a vCenter shows.
type identity struct {
	mu   sync.Mutex
	name string
	cert tls.Certificate
	pem  []byte
}

// renew makes a certificate for an address, with the key that it has or with
// another one.
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

// config returns a configuration that shows the certificate as it then is.
func (i *identity) config() *tls.Config {
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, _ := i.current()
		return &cert, nil
	}}
}

// RenewCertificate gives the vCenter another key and certificate, and breaks
// its connections, so that clients see it. Sessions stay.
func (v *VCenter) RenewCertificate() error {
	if err := v.identity.renew(v.Host(), false); err != nil {
		return err
	}
	v.server.stop()
	return v.server.start()
}

// EndCertificate does what RenewCertificate does, with a certificate that ends after a time.
func (v *VCenter) EndCertificate(after time.Duration) error {
	if err := v.identity.renewFor(v.Host(), false, after); err != nil {
		return err
	}
	v.server.stop()
	return v.server.start()
}

// SetAddress lets the vCenter listen on another loopback IPv4 address, with a
// port of its own, instead of the one that it had. Its certificate is one for
// the new address that verifies with the old one as the authority. Sessions
// stay.
func (v *VCenter) SetAddress(address string) error {
	if err := v.identity.renew(address, true); err != nil {
		return err
	}
	if err := v.server.move(address); err != nil {
		return err
	}
	return v.server.start()
}
