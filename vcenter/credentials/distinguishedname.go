package credentials

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
)

// attributeNames contains names of RFC 4514 and OpenSSL for attribute types that package pkix prints as
// digits. vCenter's own CA uses them.
var attributeNames = map[string]string{
	"0.9.2342.19200300.100.1.25": "DC",
	"1.2.840.113549.1.9.1":       "emailAddress",
}

var commonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// DistinguishedName formats a parsed name, such as CN=CA,DC=vsphere,DC=local.
func DistinguishedName(name pkix.Name) string {
	parts := make([]string, 0, len(name.Names))
	for i := len(name.Names) - 1; i >= 0; i-- {
		attribute := name.Names[i]
		attributeName := attributeNames[attribute.Type.String()]
		if attributeName == "" {
			parts = append(parts, pkix.RDNSequence{{attribute}}.String())
			continue
		}
		// Package pkix escapes only values of types that it knows, such as commonName.
		attribute.Type = commonName
		parts = append(parts, attributeName+strings.TrimPrefix(pkix.RDNSequence{{attribute}}.String(), "CN"))
	}
	return strings.Join(parts, ",")
}
