package check

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// What certificates and keys begin with, and what stands for them.
const (
	BeginPEM         = "-----BEGIN "
	BeginCertificate = "-----BEGIN CERTIFICATE-----"
	PrivateKey       = "PRIVATE KEY"
	// SystemCA in place of certificates stands for those of the system, against
	// the global section's.
	SystemCA = "system"
)

// Certificates returns the PEM certificates of a text. The first that is damaged ends
// them, and is the one of that number, from 1; 0 says that none is.
func Certificates(data []byte) (sound []*x509.Certificate, damaged int) {
	begun := func(text []byte) int { return bytes.Count(text, []byte(BeginCertificate)) }
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		// What cannot be decoded is passed over by the decoder.
		passed := begun(data[:len(data)-len(rest)])
		data = rest
		if block.Type != "CERTIFICATE" {
			if passed > 0 {
				return sound, len(sound) + 1
			}
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil || passed > 1 {
			return sound, len(sound) + 1
		}
		sound = append(sound, certificate)
	}
	if begun(data) > 0 {
		return sound, len(sound) + 1
	}
	return sound, 0
}

// ParseAuthority checks PEM certificates in the configuration itself. What it says
// never holds a part of them.
func ParseAuthority(data string) *Mistake {
	const encoded = "LS0tLS1CRUdJTi" // -----BEGIN in base64
	sound, damaged := Certificates([]byte(data))
	switch {
	case strings.Contains(data, PrivateKey+"-----"):
		return &Mistake{What: "holds a private key: write certificates alone"}
	case strings.HasPrefix(strings.TrimSpace(data), encoded):
		return &Mistake{What: "is in base64: write the certificate as it is, with " + BeginCertificate}
	case damaged > 0:
		return &Mistake{What: fmt.Sprintf("certificate %d is damaged: write it as it is in its file, "+
			"each line of it on a line of its own, indented, after caData: |", damaged)}
	case !strings.Contains(data, BeginPEM):
		return &Mistake{What: "is not a PEM certificate: write one with " + BeginCertificate + ", or the path of its file under caFile"}
	case len(sound) != strings.Count(data, BeginPEM):
		return &Mistake{What: "holds something else than certificates: write only what begins with " + BeginCertificate}
	}
	return nil
}

// IsPEM reports whether a text is PEM.
func IsPEM(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), BeginPEM) }

// ParseKey says what is wrong with the private key of a certificate, in words
// that hold nothing of it.
func ParseKey(data string, leaf *x509.Certificate) string {
	const write = ": write the PEM private key of the certificate in user"
	block, rest := pem.Decode([]byte(data))
	for block != nil && !strings.HasSuffix(block.Type, PrivateKey) {
		block, rest = pem.Decode(rest)
	}
	switch {
	case block == nil && strings.Contains(data, PrivateKey):
		return "is a damaged private key" + write
	case block == nil:
		return "is not a private key, but the user is a certificate" + write
	case block.Type == "ENCRYPTED "+PrivateKey || block.Headers["DEK-Info"] != "":
		return "is a private key behind a passphrase" + write + ", without one"
	}
	key, err := decodeKey(block.Bytes)
	if err != nil {
		return "is a damaged private key" + write
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(leaf.PublicKey) {
		return "is the private key of another certificate" + write
	}
	if _, ok := key.(*rsa.PrivateKey); !ok {
		return "is not an RSA key, the only kind with which a token can be requested: write the key of a certificate with an RSA key, and that certificate in user"
	}
	return ""
}

func decodeKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("a key that cannot sign")
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(der)
}

// ParseFiles checks the paths of files of certificates, which stand in one text as
// govmomi takes them, with which the CPI and the CSI driver read them.
func ParseFiles(files []string) *Mistake {
	const most = 64
	switch {
	case slices.Contains(files, ""):
		return &Mistake{What: fmt.Sprintf("names a file without a path: a %c stands between two paths, write it nowhere else", filepath.ListSeparator)}
	case len(files) > most:
		return &Mistake{What: fmt.Sprintf("names %d files: write at most %d, several certificates can be in one", len(files), most)}
	}
	return nil
}
