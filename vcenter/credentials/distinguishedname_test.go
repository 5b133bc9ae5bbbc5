package credentials_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"

	"vzones/vcenter/credentials"
	"vzones/vcenter/vcentertest"
)

// component is a part of a domain, which the names of vCenter's own authority have.
var component = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}

// TestDistinguishedName: each attribute that has a word is written with it, and what else a
// certificate says in a value is escaped.
func TestDistinguishedName(t *testing.T) {
	email, other := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}, asn1.ObjectIdentifier{1, 2, 3}
	for want, name := range map[string]pkix.Name{
		"CN=CA,C=US": {CommonName: "CA", Country: []string{"US"}},
		"DC=vsphere,DC=local": {ExtraNames: []pkix.AttributeTypeAndValue{
			{Type: component, Value: "local"}, {Type: component, Value: "vsphere"},
		}},
		`emailAddress=vmca@vmware.com`:          {ExtraNames: []pkix.AttributeTypeAndValue{{Type: email, Value: "vmca@vmware.com"}}},
		`DC=a\,CN=b`:                            {ExtraNames: []pkix.AttributeTypeAndValue{{Type: component, Value: "a,CN=b"}}},
		`CN=0.9.2342.19200300.100.1.25=#130178`: {CommonName: "0.9.2342.19200300.100.1.25=#130178"},
		"1.2.3=#130178":                         {ExtraNames: []pkix.AttributeTypeAndValue{{Type: other, Value: "x"}}},
		"DC=":                                   {ExtraNames: []pkix.AttributeTypeAndValue{{Type: component, Value: ""}}},
	} {
		issued := vcentertest.Issue(t, x509.Certificate{Subject: name}, nil)
		if got := credentials.DistinguishedName(issued.Cert.Subject); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
