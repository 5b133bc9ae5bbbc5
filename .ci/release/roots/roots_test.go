package roots

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestPEM: every certificate of the module is in the bundle, but those under a condition.
func TestPEM(t *testing.T) {
	text, count, err := PEM()
	if err != nil {
		t.Fatal(err)
	}
	in := map[[32]byte]bool{}
	for rest := text; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil || !c.IsCA {
			t.Errorf("%v: an authority's: %v", err, c != nil && c.IsCA)
		}
		in[sha256.Sum256(b.Bytes)] = true
	}
	if len(in) != count || count < 100 {
		t.Errorf("%d certificates, %d counted", len(in), count)
	}
	conditions := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			conditions++
		}
		if in[sha256.Sum256(root.Certificate)] == (root.Constraint != nil) {
			t.Error("a certificate is missing, or is there although its condition is not")
		}
	}
	t.Logf("%d certificates, %d left out for a condition, %d bytes", count, conditions, len(text))
	if again, _, err := PEM(); err != nil || !bytes.Equal(text, again) {
		t.Errorf("a second bundle differs: %v", err)
	}
}
