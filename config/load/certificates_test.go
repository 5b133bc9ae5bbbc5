package load

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
)

// parseAccount reads a file with the account in an entry.
func parseAccount(user, password string) (*config.Config, error) {
	literal := func(s string) string { return "|\n      " + strings.ReplaceAll(s, "\n", "\n      ") + "\n" }
	return Parse("f", []byte("vcenter:\n  10.0.0.1:\n    user: "+literal(user)+"    password: "+literal(password)))
}

func TestCertificatesWithTheirKeys(t *testing.T) {
	from, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key := configtest.RSAKey(t)
	ours, other := configtest.NewAccount(t, key, from, until), configtest.NewAccount(t, configtest.RSAKey(t), from, until)
	for name, a := range map[string]configtest.TestAccount{
		"PKCS 8":                   ours,
		"PKCS 1":                   {Certificate: ours.Certificate, Key: configtest.Armor("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))},
		"issuers behind it":        {Certificate: ours.Certificate + other.Certificate, Key: ours.Key},
		"parameters before it":     {Certificate: ours.Certificate, Key: configtest.Armor("EC PARAMETERS", []byte{6}) + ours.Key},
		"with blanks":              {Certificate: "\n" + ours.Certificate + "\n\n", Key: "\n" + ours.Key + "\n"},
		"the certificate, and key": {Certificate: ours.Certificate, Key: ours.Certificate + ours.Key},
	} {
		cfg, err := parseAccount(a.Certificate, a.Key)
		if err != nil || len(cfg.Warnings) > 0 {
			t.Errorf("%s: %+v, %v", name, cfg, err)
			continue
		}
		vc := cfg.VCenters[0]
		if vc.User != strings.TrimSpace(a.Certificate) || vc.Password.Reveal() != strings.TrimSpace(a.Key) {
			t.Errorf("%s: got user %q", name, vc.User)
		}
	}
	for _, a := range []configtest.TestAccount{{Certificate: ours.Certificate, Key: other.Key}, {Certificate: other.Certificate + ours.Certificate, Key: ours.Key}} {
		_, err := parseAccount(a.Certificate, a.Key)
		if err == nil || !strings.HasSuffix(err.Error(), `vcenter["10.0.0.1"].password: `+
			"is the private key of another certificate: write the PEM private key of the certificate in user") {
			t.Errorf("got error %v", err)
		}
	}
	_, err := parseAccount(configtest.Armor("PKCS7", []byte{6})+ours.Certificate, ours.Key)
	if err == nil || !strings.Contains(err.Error(), "user: has something else before its certificate: ") {
		t.Errorf("got error %v", err)
	}
}

// TestKeysForNoToken: the request for a token is signed with RSA.
func TestKeysForNoToken(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ofCurve := configtest.NewAccount(t, curve, from, until)
	for name, a := range map[string]configtest.TestAccount{
		"P-256":   ofCurve,
		"SEC 1":   {Certificate: ofCurve.Certificate, Key: configtest.Armor("EC PRIVATE KEY", sec1)},
		"Ed25519": configtest.NewAccount(t, edwards, from, until),
	} {
		_, err := parseAccount(a.Certificate, a.Key)
		if err == nil || !strings.Contains(err.Error(), ".password: is not an RSA key, the only kind with which a token can be requested: ") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// TestKeysThatSignNothing: PKCS 8 has keys for other purposes too.
func TestKeysThatSignNothing(t *testing.T) {
	a := configtest.NewAccount(t, configtest.RSAKey(t), time.Unix(0, 0), time.Now().Add(time.Hour))
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parseAccount(a.Certificate, configtest.Armor("PRIVATE KEY", der))
	if err == nil || !strings.Contains(err.Error(), "is a damaged private key") {
		t.Errorf("got error %v", err)
	}
}

func TestCertificatesOutOfTheirTime(t *testing.T) {
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct{ from, until, want string }{
		{"2001-02-03", "2004-05-06", "f:3: vcenter[\"10.0.0.1\"].user: is a certificate that expired on 2004-05-06: the vCenter will reject it"},
		{"2090-02-03", "2094-05-06", "f:3: vcenter[\"10.0.0.1\"].user: is a certificate that is not valid before 2090-02-03: the vCenter will reject it until then"},
	} {
		a := configtest.NewAccount(t, configtest.RSAKey(t), day(c.from), day(c.until))
		cfg, err := parseAccount(a.Certificate, a.Key)
		if err != nil {
			t.Fatal(err)
		}
		if len(cfg.Warnings) != 1 || cfg.Warnings[0].String() != c.want {
			t.Errorf("got warnings %q, want %q", cfg.Warnings, c.want)
		}
	}
}

// TestCertificateInTheINIFormat: there a text goes on after \n.
func TestCertificateInTheINIFormat(t *testing.T) {
	a := configtest.NewAccount(t, configtest.RSAKey(t), time.Unix(0, 0), time.Now().Add(time.Hour))
	quoted := func(s string) string { return `"` + strings.ReplaceAll(s, "\n", `\n`) + `"` }
	cfg, err := Parse("f", []byte("[VirtualCenter \"10.0.0.1\"]\nuser = "+quoted(a.Certificate)+"\npassword = "+quoted(a.Key)+"\n"))
	if err != nil || len(cfg.Warnings) > 0 {
		t.Fatalf("got %+v, %v", cfg, err)
	}
	if vc := cfg.VCenters[0]; vc.User+"\n" != a.Certificate || vc.Password.Reveal()+"\n" != a.Key {
		t.Errorf("got user %q", vc.User)
	}
	// One half may be global, or from the environment.
	cfg, err = Parse("f", []byte("vcenter:\n  10.0.0.1:\n"), "VSPHERE_USER="+a.Certificate, "VSPHERE_PASSWORD="+a.Key)
	if err != nil || cfg.VCenters[0].Password.Reveal()+"\n" != a.Key {
		t.Errorf("got %+v, %v", cfg, err)
	}
}

// TestNothingOfAKeyIsShown, whatever prints what was read.
func TestNothingOfAKeyIsShown(t *testing.T) {
	a := configtest.NewAccount(t, configtest.RSAKey(t), time.Unix(0, 0), time.Now().Add(time.Hour))
	secret := strings.Split(a.Key, "\n")[1]
	body := strings.Split(a.Certificate, "\n")[1]
	for _, given := range []configtest.TestAccount{{Certificate: a.Key, Key: a.Certificate}, {Certificate: a.Certificate + a.Key, Key: a.Key}, {Certificate: "user", Key: a.Key}, {Certificate: a.Key, Key: "x"}, {Certificate: a.Certificate, Key: a.Key[:60]}} {
		_, err := parseAccount(given.Certificate, given.Key)
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), body) {
			t.Errorf("got error %v", err)
		}
	}
}

// TestDamagedCertificates: one that the decoder passes over is not overlooked,
// wherever it stands.
func TestDamagedCertificates(t *testing.T) {
	data, err := os.ReadFile("testdata/ca/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	sound, other := string(data), configtest.Armor("CERTIFICATE REQUEST", []byte("x"))
	passed, unread := strings.Replace(sound, "\n", "\n!", 1), configtest.Armor("CERTIFICATE", []byte("x"))
	for _, c := range []struct {
		text           string
		count, damaged int
	}{
		{"", 0, 0}, {"text", 0, 0}, {other, 0, 0}, {sound, 1, 0}, {sound + other + sound, 2, 0}, {"text\n" + sound + "text", 1, 0},
		{passed, 0, 1}, {unread, 0, 1}, {sound + passed, 1, 2}, {sound + unread, 1, 2}, {passed + sound, 0, 1},
		{sound + passed + sound, 1, 2}, {passed + other, 0, 1}, {sound[:100], 0, 1}, {sound + sound[:100], 1, 2},
	} {
		got, damaged := Certificates([]byte(c.text))
		if len(got) != c.count || damaged != c.damaged {
			t.Errorf("%s\ngot %d, %d, want %d, %d", c.text, len(got), damaged, c.count, c.damaged)
		}
	}
	began := time.Now()
	const many = 5000
	if got, damaged := Certificates([]byte(strings.Repeat(sound, many))); len(got) != many || damaged != 0 {
		t.Errorf("got %d, %d", len(got), damaged)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("%d certificates took %v", many, took)
	}
}
