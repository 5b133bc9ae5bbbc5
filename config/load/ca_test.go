package load

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestAccountsThatAreCertificates generates certificates, because keys are no fixtures and certificates
// expire. No message may contain a line of them.
func TestAccountsThatAreCertificates(t *testing.T) {
	const (
		notRSA  = "password: is not an RSA key, but a token can be requested only with an RSA key: "
		another = "password: is the private key of a different certificate: write the PEM private key of the certificate in user"
		damaged = "password: is a damaged private key"
	)
	now := time.Now()
	from, until := now.Add(-time.Hour), now.Add(time.Hour)
	day := func(year int) time.Time { return time.Date(year, 2, 3, 0, 0, 0, 0, time.UTC) }
	key, curve := configtest.RSAKey(t), must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	edwards := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	ours, other := configtest.NewAccount(t, key, from, until), configtest.NewAccount(t, configtest.RSAKey(t), from, until)
	ofCurve, ofEdwards := configtest.NewAccount(t, curve, from, until), configtest.NewAccount(t, edwards, from, until)
	expired, future := configtest.NewAccount(t, key, day(2001), day(2004)), configtest.NewAccount(t, key, day(2090), day(2094))
	pkcs1 := configtest.Armor("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	sec1 := configtest.Armor("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(curve)))
	noSigner := configtest.Armor("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(must(ecdh.X25519().GenerateKey(rand.Reader)))))
	yaml := func(s string) string { return "|\n      " + strings.ReplaceAll(s, "\n", "\n      ") + "\n" }
	ini := func(s string) string { return `"` + strings.ReplaceAll(s, "\n", `\n`) + `"` }
	for name, c := range map[string]struct{ user, password, want string }{
		"PKCS 8":                    {ours.Certificate, ours.Key, ""},
		"PKCS 1":                    {ours.Certificate, pkcs1, ""},
		"issuers behind it":         {ours.Certificate + other.Certificate, ours.Key, ""},
		"parameters before the key": {ours.Certificate, configtest.Armor("EC PARAMETERS", []byte{6}) + ours.Key, ""},
		"with blanks":               {"\n" + ours.Certificate + "\n\n", "\n" + ours.Key + "\n", ""},
		"certificate before a key":  {ours.Certificate, ours.Certificate + ours.Key, ""},
		"expired":                   {expired.Certificate, expired.Key, "user: is a certificate that expired on 2004-02-03: the vCenter will reject it"},
		"not yet valid":             {future.Certificate, future.Key, "user: is a certificate that is not valid before 2090-02-03: the vCenter will reject it until then"},
		"another key":               {ours.Certificate, other.Key, another},
		"key of an issuer":          {other.Certificate + ours.Certificate, ours.Key, another},
		"something before it":       {configtest.Armor("PKCS7", []byte{6}) + ours.Certificate, ours.Key, "user: does not begin with a certificate: "},
		"P-256":                     {ofCurve.Certificate, ofCurve.Key, notRSA},
		"SEC 1":                     {ofCurve.Certificate, sec1, notRSA},
		"Ed25519":                   {ofEdwards.Certificate, ofEdwards.Key, notRSA},
		"key that signs nothing":    {ours.Certificate, noSigner, damaged}, // PKCS 8 has keys for other purposes too
		"half a key":                {ours.Certificate, ours.Key[:60], damaged},
		"key and certificate":       {ours.Key, ours.Certificate, "user: "},
		"key behind it":             {ours.Certificate + ours.Key, ours.Key, "user: "},
		"key without certificate":   {"user", ours.Key, "user: "},
		"key and password":          {ours.Key, "x", "user: "},
	} {
		for format, text := range map[string]string{
			"YAML": "vcenter:\n  10.0.0.1:\n    user: " + yaml(c.user) + "    password: " + yaml(c.password),
			"INI":  "[VirtualCenter \"10.0.0.1\"]\nuser = " + ini(c.user) + "\npassword = " + ini(c.password) + "\n",
		} {
			var got string
			cfg, err := Parse("f", []byte(text))
			if err != nil {
				got = err.Error()
			} else {
				got = strings.Join(configtest.WarningsOf(cfg), "\n")
				if vc := cfg.VCenters[0]; vc.User != strings.TrimSpace(c.user) || vc.Password.Reveal() != strings.TrimSpace(c.password) {
					t.Errorf("%s in %s: got user %q", name, format, vc.User)
				}
			}
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s in %s: got %q, want %q", name, format, got, c.want)
			}
			for line := range strings.Lines(c.user + c.password) {
				if len(line) > 40 && strings.Contains(got, strings.TrimSpace(line)) {
					t.Errorf("%s in %s: shows %s", name, format, line)
				}
			}
		}
	}
	cfg, err := Parse("f", []byte("global:\n"), "VSPHERE_VCENTER=10.0.0.1", "VSPHERE_USER="+ours.Certificate, "VSPHERE_PASSWORD="+ours.Key)
	if err != nil || cfg.VCenters[0].Password.Reveal()+"\n" != ours.Key {
		t.Errorf("a key as the password in the environment: got %+v, %v, want it unchanged", cfg, err)
	}
}

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
			t.Errorf("Certificates: %d of them, the damaged one is %d, want %d and %d, in\n%s", len(got), damaged, c.count, c.damaged, c.text)
		}
	}
}

// manyCAFiles returns a configuration with each CA files for each of vcenters.
func manyCAFiles(vcenters, each int, path func(vcenter, file int) string) string {
	var b strings.Builder
	b.WriteString("global: {user: u, password: p}\nvcenter:\n")
	for v := range vcenters {
		var paths []string
		for f := range each {
			paths = append(paths, path(v, f))
		}
		fmt.Fprintf(&b, "  v%03d: {server: vc%03[1]d.example.com, caFile: \"%s\"}\n", v, strings.Join(paths, ":"))
	}
	return b.String()
}

// TestManyCAFiles checks the limit of watched files.
func TestManyCAFiles(t *testing.T) {
	skip := Options{SkipFiles: true}
	began := used(t)
	_, err := skip.Parse("f", []byte(manyCAFiles(1000, 64, func(v, f int) string { return fmt.Sprintf("/c%03d%02d", v, f) })))
	if took := used(t) - began; took > time.Second {
		t.Errorf("took %v", took)
	}
	const want = "f:18: vcenter.v015.caFile: there are more than 1000 CA files: write fewer"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	cfg, err := skip.Parse("f", []byte(manyCAFiles(1000, 64, func(_, f int) string { return fmt.Sprintf("/c%02d", f) })))
	if err != nil || len(cfg.Files) != 64 || len(cfg.VCenters[0].CA) > 0 {
		t.Errorf("1,000 vCenters with 64 CA files, which are skipped: got %+v, %v, want 64 files and no CA", cfg, err)
	}
}

// TestLargeCAFiles checks that the total size is limited, and that vCenters share what they have in
// common.
func TestLargeCAFiles(t *testing.T) {
	dir := t.TempDir()
	one, err := os.ReadFile("testdata/ca/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	large := append(bytes.Repeat([]byte{'\n'}, 4<<20-len(one)), one...)
	path := func(_, f int) string { return filepath.Join(dir, fmt.Sprintf("%02d.pem", f)) }
	for f := range 17 {
		if err := os.WriteFile(path(0, f), large, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const too = "vcenter.%s.caFile: the CA files together exceed 67108864 bytes: use fewer or smaller files"
	for name, c := range map[string]struct{ text, want string }{
		"in one list": {manyCAFiles(1, 17, path), "f:3: " + fmt.Sprintf(too, "v000")},
		"one each":    {manyCAFiles(17, 1, func(v, _ int) string { return path(0, v) }), "f:19: " + fmt.Sprintf(too, "v016")},
		"in any order": {manyCAFiles(10, 2, func(v, f int) string { return path(0, (v+f)%10) }),
			"f:10: " + fmt.Sprintf(too, "v007")},
	} {
		if _, err := Parse("f", []byte(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	cfg, err := Parse("f", []byte(manyCAFiles(300, 1, func(_, _ int) string { return path(0, 0) })))
	if err != nil {
		t.Fatal(err)
	}
	checkShared(t, cfg, len(large))
	cfg, err = Parse("f", []byte("global: {user: u, password: p, caData: &x '"+strings.ReplaceAll(string(one), "\n", "\n\n  ")+"'}\n"+
		"vcenter:\n  10.0.0.1: {caData: *x}\n  10.0.0.2: {caData: *x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	checkShared(t, cfg, len(cfg.VCenters[0].CA))
}

func checkShared(t *testing.T, cfg *config.Config, length int) {
	t.Helper()
	for _, vc := range cfg.VCenters {
		if length == 0 || len(vc.CA) != length || &vc.CA[0] != &cfg.VCenters[0].CA[0] {
			t.Fatalf("vCenter %s: %d bytes of its own", vc.Name, len(vc.CA))
		}
	}
}

// FuzzCertificates checks that the first damaged certificate follows the sound certificates.
func FuzzCertificates(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sound, damaged := Certificates(data)
		if damaged != 0 && damaged != len(sound)+1 {
			t.Errorf("%q: %d sound certificates, and number %d is damaged", data, len(sound), damaged)
		}
		_ = parseCA(string(data))
		_ = parseKey(string(data), string(data))
	})
}
