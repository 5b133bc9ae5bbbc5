package credentials_test

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/vcentertest"
)

func TestString(t *testing.T) {
	cert, key := vcentertest.UserCertificate(t, "vzones-solution-user")
	ofVCenter := string(vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: component, Value: "local"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "vzones"},
	}}}, nil).PEM())
	for name, c := range map[string]struct {
		creds credentials.Credentials
		want  string
	}{
		"nothing":          {credentials.Credentials{}, ""},
		"user":             {credentials.Credentials{User: "me@vsphere.local", Password: config.NewPassword("made-up")}, "me@vsphere.local"},
		"certificate":      {credentials.Credentials{Certificate: cert, Key: config.NewPassword(key)}, `certificate "CN=vzones-solution-user"`},
		"of vCenter's own": {credentials.Credentials{Certificate: ofVCenter}, `certificate "CN=vzones,DC=local"`},
		"no certificate":   {credentials.Credentials{Certificate: "none"}, `certificate "unreadable"`},
		"damaged":          {credentials.Credentials{Certificate: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, `certificate "unreadable"`},
		"session manager":  {credentials.Credentials{SessionManagerURL: "https://sm.example.com:8443/session"}, "a session of https://sm.example.com:8443/session"},
		"secrets in it":    {credentials.Credentials{SessionManagerURL: "https://u:made-up@sm.example.com/session?token=made-up#made-up"}, "a session of https://sm.example.com/session"},
		"no URL":           {credentials.Credentials{SessionManagerURL: "made-up"}, "a session of an address that is not a valid URL"},
	} {
		if got := c.creds.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNothingSecretIsPrinted checks that printing and encoding yield String, also inside other values.
func TestNothingSecretIsPrinted(t *testing.T) {
	cert, key := vcentertest.UserCertificate(t, "vzones-solution-user")
	const secret = "made-up-secret"
	all := map[string]credentials.Credentials{
		"password":    {User: "me", Password: config.NewPassword(secret)},
		"certificate": {Certificate: cert, Key: config.NewPassword(key)},
		"token":       {SessionManagerURL: "https://sm.example.com/s?key=" + secret, SessionManagerToken: config.NewPassword(secret)},
	}
	for name, c := range all {
		var out bytes.Buffer
		for _, v := range []any{c, &c, []credentials.Credentials{c}, map[string]credentials.Credentials{"a": c}, struct{ C credentials.Credentials }{c}, struct{ C *credentials.Credentials }{&c}} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3v"} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			j, err := json.Marshal(v)
			if err != nil {
				t.Errorf("json.Marshal of the credentials with %s: %v", name, err)
			}
			y, err := yaml.Marshal(v)
			if err != nil {
				t.Errorf("yaml.Marshal of the credentials with %s: %v", name, err)
			}
			out.Write(append(j, y...))
		}
		fmt.Fprintln(&out, c.MarshalLog())
		text, _ := c.MarshalText()
		out.Write(text)
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("credentials", "c", c)
		}
		// The fourth line of a PEM text is unique to it.
		for _, s := range []string{secret, strings.Split(key, "\n")[3], strings.Split(cert, "\n")[3]} {
			if strings.Contains(out.String(), s) {
				t.Errorf("%s: printed %s", name, s)
			}
		}
		if !strings.Contains(out.String(), c.String()) {
			t.Errorf("%s: %q is nowhere in %s", name, c.String(), out.String())
		}
	}
}

func TestEqualAndIsEmpty(t *testing.T) {
	p := config.NewPassword
	different := func() []credentials.Credentials {
		return []credentials.Credentials{
			{},
			{User: "a"}, {User: "b"}, {Password: p("a")}, {Password: p("b")},
			{Certificate: "a"}, {Certificate: "b"}, {Key: p("a")}, {Key: p("b")},
			{SessionManagerURL: "a"}, {SessionManagerURL: "b"}, {SessionManagerToken: p("a")}, {SessionManagerToken: p("b")},
		}
	}
	for i, a := range different() {
		for j, b := range different() {
			if a.Equal(b) != (i == j) {
				t.Errorf("%d and %d: %v", i, j, a.Equal(b))
			}
		}
		if a.IsEmpty() != (i == 0) {
			t.Errorf("%d: empty is %v", i, a.IsEmpty())
		}
	}
}

// TestKeysBehindSomethingElse covers PEM blocks before the key, which the configuration's check accepts.
func TestKeysBehindSomethingElse(t *testing.T) {
	cert, key := vcentertest.UserCertificate(t, "one")
	for name, before := range map[string]string{"parameters": "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n", "its certificate": cert} {
		c, err := credentials.FromAccount(cert, config.NewPassword(before+key))
		if err != nil {
			t.Errorf("FromAccount with a key behind %s: error %v, want none", name, err)
			continue
		}
		if pair, err := c.KeyPair(); err != nil || len(pair.Certificate) != 1 {
			t.Errorf("%s: got %d certificates and error %v", name, len(pair.Certificate), err)
		}
	}
}

func TestFromAccount(t *testing.T) {
	cert, key := vcentertest.UserCertificate(t, "one")
	_, other := vcentertest.UserCertificate(t, "two")
	elliptic := vcentertest.Issue(t, x509.Certificate{}, nil)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(elliptic.Key)
	if err != nil {
		t.Fatal(err)
	}
	ec, ecKey := string(elliptic.PEM()), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	encrypted := "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
	for name, c := range map[string]struct{ user, password, err string }{
		"nothing":                   {"", "", ""},
		"user":                      {"me", "made-up", ""},
		"certificate":               {cert, key, ""},
		"with its issuer":           {cert + ec, key, ""},
		"with a title":              {"my certificate\n" + cert, key, ""},
		"cut off":                   {cert[:200], key, "does not start with a readable CERTIFICATE block"},
		"key twice":                 {key, key, "does not start with a readable CERTIFICATE block"},
		"damaged":                   {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", key, "damaged"},
		"a password":                {cert, "made-up", "not a private key"},
		"a certificate for a key":   {cert, cert, "not a private key"},
		"another key":               {cert, other, "does not match the certificate"},
		"encrypted":                 {cert, encrypted, "does not match the certificate, or is encrypted"},
		"a key of the wrong family": {ec, ecKey, "not an RSA key"},
	} {
		creds, err := credentials.FromAccount(c.user, config.NewPassword(c.password))
		if c.err == "" {
			if err != nil {
				t.Errorf("FromAccount, %s: error %v, want none", name, err)
			} else if strings.Contains(c.user, "BEGIN") {
				if creds.Certificate != c.user || creds.Key.Reveal() != c.password || creds.User != "" {
					t.Errorf("%s: not read as a certificate", name)
				}
			} else if creds.User != c.user || creds.Password.Reveal() != c.password {
				t.Errorf("FromAccount, %s: credentials %v, want user %q and its password", name, creds, c.user)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		} else if strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "made-up") {
			t.Errorf("FromAccount, %s: error %q, want one line without the key", name, err)
		}
	}
}

// component is the attribute type of a domain component, which names of vCenter's own CA contain.
var component = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}

// TestDistinguishedName covers attribute types by name and the escaping of values.
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
