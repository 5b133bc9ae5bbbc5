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

// Credentials log in to one vCenter in one of three ways: with a user and a
// password; with a certificate and its key, for which the vCenter's token service
// gives a SAML token; or with a session that a shared session manager hands out.
// The fields of the other ways are empty. They print as String, whatever prints
// them.
type Credentials struct {
	User     string
	Password config.Password

	// Certificate and Key are PEM. The certificate itself comes first, those
	// that signed it may follow.
	Certificate string
	Key         config.Password

	// SessionManagerURL is where a session is asked for, by showing the token.
	SessionManagerURL   string
	SessionManagerToken config.Password

	// Revision changes when the Secret or the files that have them are written again, even with
	// the same content. It does not count for Equal.
	Revision string
}

// FromAccount returns the credentials that a user name and a password are: a
// certificate and its key if the user name is PEM, as in the CPI. Both may be
// empty. An error shows neither.
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

// KeyPair returns the certificate with its key. An error shows nothing of them.
func (c Credentials) KeyPair() (tls.Certificate, error) {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil || block.Type != "CERTIFICATE" {
		return tls.Certificate{}, errors.New("its PEM text does not begin with a CERTIFICATE block that can be read: write the whole certificate")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return tls.Certificate{}, errors.New("the certificate in it is damaged: write the whole certificate")
	}
	// openssl writes the parameters of a key before it, and some keep the certificate there.
	block, rest := pem.Decode([]byte(c.Key.Reveal()))
	for block != nil && !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return tls.Certificate{}, errors.New("its password is not a private key in PEM: write the certificate's key")
	}
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key.Reveal()))
	if err != nil {
		return tls.Certificate{}, errors.New("the private key is not this certificate's, or encrypted: write the key of this certificate, without a passphrase")
	}
	if _, ok := pair.PrivateKey.(*rsa.PrivateKey); !ok {
		return tls.Certificate{}, errors.New("the private key is not an RSA key, which a token is asked for with: write a certificate with an RSA key")
	}
	return pair, nil
}

// Equal reports whether both log in the same way with the same secrets.
func (c Credentials) Equal(other Credentials) bool {
	return c.User == other.User && c.Password.Equal(other.Password) &&
		c.Certificate == other.Certificate && c.Key.Equal(other.Key) &&
		c.SessionManagerURL == other.SessionManagerURL && c.SessionManagerToken.Equal(other.SessionManagerToken)
}

// IsEmpty reports whether there is nothing to log in with.
func (c Credentials) IsEmpty() bool { return c.Equal(Credentials{}) }

// String returns who logs in: the user name, the certificate's subject or the
// session manager's address without what may be secret in it. It is empty for
// empty Credentials.
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

// PublicURL returns a URL without user, query and fragment, where secrets may
// be. Nothing is left of what is not a URL.
func PublicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "an address that is not a valid URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

// Format writes String for every verb, flag and width.
func (c Credentials) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// MarshalText is String, for encodings that know nothing better.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MarshalJSON is String as a JSON text.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// MarshalYAML is String as a YAML text.
func (c Credentials) MarshalYAML() (any, error) { return c.String(), nil }

// MarshalLog is String, for logr's sinks.
func (c Credentials) MarshalLog() any { return c.String() }

// LogValue is String, for slog.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }
