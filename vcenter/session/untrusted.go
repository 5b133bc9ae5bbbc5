package session

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/credentials"
	"vzones/vcenter/inventory"
)

// An UntrustedError means that a server's certificate is not trusted. Nothing was sent to the server.
type UntrustedError struct {
	// Server is a host name or address.
	Server      string
	Certificate *x509.Certificate
	// TrustAt is the place in the configuration that sets the trust; may be empty.
	TrustAt string

	thumbprint string
	err        error
	// manager describes the session manager, empty for a vCenter. note lists settings that do not apply to it.
	manager, note string
}

// Cause implements the interface of faults.CauseOf.
func (*UntrustedError) Cause() inventory.Cause { return inventory.CauseUntrusted }

func (e *UntrustedError) Error() string {
	c := e.Certificate
	fingerprint := "SHA-256 " + soap.ThumbprintSHA256(c)
	if e.manager == "" && e.thumbprint != "" && len(e.thumbprint) < len(soap.ThumbprintSHA256(c)) {
		fingerprint += ", SHA-1 " + soap.ThumbprintSHA1(c)
	}
	thumbprintNote := ""
	if e.manager == "" && e.thumbprint != "" {
		thumbprintNote = "its fingerprint is not the configured thumbprint, and "
	}
	place := ""
	if e.TrustAt != "" {
		place = " (" + e.TrustAt + ")"
	}
	return fmt.Sprintf("the certificate of %s: %s%s%s; offered %s, subject %s, issuer %s, valid from %s until %s",
		e.distrusted(), thumbprintNote, e.reason(time.Now()), place, fingerprint, quoted(credentials.DistinguishedName(c.Subject)), quoted(credentials.DistinguishedName(c.Issuer)), formatTime(c.NotBefore), formatTime(c.NotAfter))
}

func (e *UntrustedError) Unwrap() error { return e.err }

func (e *UntrustedError) distrusted() string {
	if e.manager == "" {
		return e.Server + " is not trusted"
	}
	return e.manager + " is not trusted, so the token is not sent"
}

func (e *UntrustedError) reason(now time.Time) string {
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	name := "server"
	pin := ", or set thumbprint to the fingerprint"
	caNote := ""
	if e.manager != "" {
		name = "the session manager's address"
		pin = ""
		caNote = ", which apply to a session manager in addition to the system's CAs"
	}
	switch {
	case errors.As(e.err, &unknownCA):
		return "it is signed by an unknown CA: add the CA to caFile or caData" + pin + caNote + e.note
	case errors.As(e.err, &host):
		return "it is for " + e.names() + ", not for " + e.Server + ": set " + name + " to a name in the certificate" + pin + e.note
	case errors.As(e.err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		subject := "it"
		if !invalid.Cert.Equal(e.Certificate) {
			subject = "the certificate " + quoted(credentials.DistinguishedName(invalid.Cert.Subject)) + " above it"
		}
		if now.Before(invalid.Cert.NotBefore) {
			return subject + " is not valid before " + formatTime(invalid.Cert.NotBefore) + ": check the clocks of the server and of this host" + e.note
		}
		return subject + " expired on " + formatTime(invalid.Cert.NotAfter) + ": renew it on the server" + e.note
	}
	return "it cannot be verified (" + quoted(e.err.Error()) + "): add another CA to caFile or caData" + pin + e.note
}

func (e *UntrustedError) names() string {
	const maxNames = 5
	var names []string
	for _, n := range e.Certificate.DNSNames {
		names = append(names, quoted(n))
	}
	for _, ip := range e.Certificate.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host name or address"
	}
	if extra := len(names) - maxNames; extra > 0 {
		names = append(names[:maxNames], strconv.Itoa(extra)+" more")
	}
	return strings.Join(names, ", ")
}

func quoted(s string) string {
	const maxLength = 200
	if r := []rune(s); len(r) > maxLength {
		s = string(r[:maxLength]) + "…"
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func withoutRequest(err error) error {
	var untrusted *UntrustedError
	if errors.As(err, &untrusted) {
		return untrusted
	}
	return err
}
