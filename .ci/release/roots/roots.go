// Package roots has the certificates of the authorities that Mozilla trusts, from a
// pinned Go module: the same on every machine, whatever its own store holds.
package roots

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Module is where the certificates come from.
const Module = "golang.org/x/crypto/x509roots/fallback"

// PEM returns the bundle, each certificate below a comment with its name, and how many
// are in it. What Mozilla trusts under a condition, such as certificates issued before a
// day, is left out: PEM has no words for the condition.
func PEM() (text []byte, count int, err error) {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: certificate %d: %w", Module, count+1, err)
		}
		fmt.Fprintf(&b, "# %s\n", name(c))
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, 0, err
		}
		count++
	}
	return b.Bytes(), count, nil
}

// name returns a certificate's common name, or where it has none the unit or organization.
// How Go writes whole subjects has changed between its releases.
func name(c *x509.Certificate) string {
	for _, names := range [][]string{{c.Subject.CommonName}, c.Subject.OrganizationalUnit, c.Subject.Organization} {
		if len(names) > 0 && names[0] != "" {
			return names[0]
		}
	}
	return c.SerialNumber.Text(16)
}
