package credentials

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"vzones/config"
)

// Credentials log in to one vCenter with a user name and password, a certificate and key, or a
// session from a session manager. They print and encode as String.
type Credentials struct {
	User     string
	Password config.Password

	// Certificate and Key are PEM. The certificate's issuers may follow it.
	Certificate string
	Key         config.Password

	// SessionManagerURL issues a session in exchange for the token.
	SessionManagerURL   string
	SessionManagerToken config.Password

	// Revision changes with each write of the Secret or the files.
	Revision string
	// Source names the Secret, the directory or the configuration that contains the credentials.
	Source string
}

// FromAccount returns credentials with a certificate if the user name is PEM, as in the CPI.
// Errors contain no secrets.
func FromAccount(user string, password config.Password) (Credentials, error) {
	if !isPEM(user) {
		return Credentials{User: user, Password: password}, nil
	}
	c := Credentials{Certificate: user, Key: password}
	if _, err := c.KeyPair(); err != nil {
		return Credentials{}, fmt.Errorf("the user name is a certificate, but %w", err)
	}
	return c, nil
}

func isPEM(s string) bool { return strings.Contains(s, "-----BEGIN") }

// KeyPair parses the certificate and key. Errors contain no secrets.
func (c Credentials) KeyPair() (tls.Certificate, error) {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil || block.Type != "CERTIFICATE" {
		return tls.Certificate{}, errors.New("its PEM text does not start with a readable CERTIFICATE block: specify the whole certificate")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return tls.Certificate{}, errors.New("the certificate is damaged: specify the whole certificate")
	}
	// openssl writes a key's parameters before the key.
	block, rest := pem.Decode([]byte(c.Key.Reveal()))
	for block != nil && !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return tls.Certificate{}, errors.New("the password is not a private key in PEM: specify the certificate's key")
	}
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key.Reveal()))
	if err != nil {
		return tls.Certificate{}, errors.New("the private key does not match the certificate, or is encrypted: specify the certificate's key without a passphrase")
	}
	if _, ok := pair.PrivateKey.(*rsa.PrivateKey); !ok {
		return tls.Certificate{}, errors.New("the private key is not an RSA key, which token requests need: specify a certificate with an RSA key")
	}
	return pair, nil
}

// Equal compares everything but Revision and Source.
func (c Credentials) Equal(other Credentials) bool {
	return c.User == other.User && c.Password.Equal(other.Password) &&
		c.Certificate == other.Certificate && c.Key.Equal(other.Key) &&
		c.SessionManagerURL == other.SessionManagerURL && c.SessionManagerToken.Equal(other.SessionManagerToken)
}

// IsEmpty reports whether c equals the zero value.
func (c Credentials) IsEmpty() bool { return c.Equal(Credentials{}) }

// String returns the user name, the certificate's subject or the session manager's public URL.
func (c Credentials) String() string {
	switch {
	case c.SessionManagerURL != "":
		return "a session of " + PublicURL(c.SessionManagerURL)
	case c.Certificate != "":
		return "certificate " + strconv.Quote(c.subject())
	}
	return c.User
}

func (c Credentials) subject() string {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil {
		return "unreadable"
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "unreadable"
	}
	return DistinguishedName(cert.Subject)
}

// PublicURL removes the user, query and fragment of a URL, which may contain secrets.
func PublicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "an address that is not a valid URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// GoString returns String.
func (c Credentials) GoString() string { return c.String() }

// Format writes String.
func (c Credentials) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// MarshalText returns String.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MarshalJSON returns String.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// MarshalYAML returns String.
func (c Credentials) MarshalYAML() (any, error) { return c.String(), nil }

// MarshalLog returns String.
func (c Credentials) MarshalLog() any { return c.String() }

// LogValue returns String.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }
