package configtest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// TestAccount is a certificate and its key, made for one test, as PEM.
type TestAccount struct{ Certificate, Key string }

// NewAccount makes a certificate for a key.
func NewAccount(t *testing.T, key crypto.Signer, from, until time.Time) TestAccount {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vzones"}, NotBefore: from, NotAfter: until,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return TestAccount{Armor("CERTIFICATE", certificate), Armor("PRIVATE KEY", der)}
}

// Armor returns DER as PEM.
func Armor(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// RSAKey makes an RSA key.
func RSAKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
