package vcentertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"vzones/config"
	"vzones/vcenter/credentials"
)

// An Issued is a certificate with its key.
type Issued struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// PEM returns the certificate as PEM.
func (i Issued) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Cert.Raw})
}

// Issue creates a certificate. If issuer is nil, it is self-signed.
func Issue(t *testing.T, template x509.Certificate, issuer *Issued) Issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if issuer == nil {
		template.IsCA = true
		template.BasicConstraintsValid = true
		issuer = &Issued{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, issuer.Cert, &key.PublicKey, issuer.Key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return Issued{cert, key}
}

// ServeChain starts a server with a certificate chain, leaf first. It returns the port and the request count.
func ServeChain(t *testing.T, chain ...Issued) (int, *atomic.Int32) {
	t.Helper()
	requests := new(atomic.Int32)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	c := tls.Certificate{PrivateKey: chain[0].Key}
	for _, i := range chain {
		c.Certificate = append(c.Certificate, i.Cert.Raw)
	}
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	port, err := strconv.Atoi(MustURL(t, srv.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	return port, requests
}

// UserCertificate creates a client certificate and its key.
func UserCertificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
}

// CertificateCredentials sets a client certificate in a configuration and returns its credentials.
func CertificateCredentials(t *testing.T, cfg *config.VCenter) credentials.Credentials {
	t.Helper()
	user, key := UserCertificate(t, "vzones-solution-user")
	cfg.User = user
	cfg.Password = config.NewPassword(key)
	creds, err := credentials.FromAccount(cfg.User, cfg.Password)
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

// Leaf returns the first certificate of a PEM text.
func Leaf(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
