package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/config/load"
	"vzones/vcenter/credentials"
)

// readConfig reads a configuration, but not its CA files.
func readConfig(t *testing.T, path string) *config.Config {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := load.Options{SkipFiles: true}.Parse(path, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secretData returns the data of a Secret's manifest as a Pod sees it.
func secretData(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s corev1.Secret
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(file), 64).Decode(&s); err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for key, value := range s.StringData {
		data[key] = []byte(value)
	}
	return data
}

// inFile reports whether the file contains the vCenter's account.
func inFile(vc *config.VCenter) bool {
	return vc.Secret == (config.SecretRef{}) && vc.SecretsDirectory == ""
}

// convertAndCompare converts a file to YAML and a Secret, checks that the daemon reads the same account
// for each vCenter as before, and returns the number of accounts.
func convertAndCompare(t *testing.T, path string) (accounts int) {
	t.Helper()
	before := readConfig(t, path)
	dir := t.TempDir()
	converted, manifest := filepath.Join(dir, "converted.yaml"), filepath.Join(dir, "secret.yaml")
	var stdout, stderr bytes.Buffer
	if status := run([]string{"convert", path, "--secret", manifest}, nil, &stdout, &stderr); status != success {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if err := os.WriteFile(converted, stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	after := readConfig(t, converted)
	var data map[string][]byte
	for i := range before.VCenters {
		was, is := &before.VCenters[i], &after.VCenters[i]
		if !inFile(was) {
			if is.Secret != was.Secret || is.SecretsDirectory != was.SecretsDirectory {
				t.Errorf("%s: the credentials of %s are elsewhere now", path, was.Name)
			}
			continue
		}
		if data == nil {
			data = secretData(t, manifest)
		}
		accounts++
		want, err := credentials.FromAccount(was.User, was.Password)
		if err != nil {
			t.Fatal(err)
		}
		got, err := credentials.Find(data, is.Server)
		if err != nil || !got.Equal(want) || !is.Password.IsEmpty() || is.User != "" {
			t.Errorf("%s: %s gets %v and error %v, not %v and the same password", path, was.Name, got, err, want)
		}
	}
	return accounts
}

func TestAccountsSurviveConversion(t *testing.T) {
	accounts := 0
	for _, folder := range []string{"good", "ini-good"} {
		for _, given := range configtest.Cases(t, folder) {
			accounts += convertAndCompare(t, configtest.Path(t, folder, given.File))
		}
	}
	if accounts == 0 {
		t.Error("no file has an account")
	}
}

// The servers include some that are not valid in a Secret's key.
func TestOddPasswordsSurviveConversion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vsphere.conf")
	for _, password := range []string{
		`"`, `'`, `\`, `\\`, `\n`, `a\`, `"a"`, `'a'`, "#a", "a #b", ";a", "a;b", " a", "a ", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "- a", "a: b",
		"{a}", "[a]", "a,b", "yes", "null", "~", "0123", "1e3", "0x1F", "2020-01-01", "<<", "=", "---", "...", "$(id)", "${A}", "{{.A}}", "ü", "密码",
		"\U0001f511", "\u00a0a", "\u2028", strings.Repeat("a b", 2000), "-----BEGIN", "[redacted]",
	} {
		for _, format := range []string{
			"global:\n  user: %[1]s\n  password: %[2]s\nvcenter:\n  vc.example.com:\n  fd00::10:\nlabels: {zone: k8s-zone}\n",
			"[Global]\nuser = %[1]s\npassword = %[2]s\n[VirtualCenter \"vc.example.com\"]\n[VirtualCenter \"fd00::10\"]\n[Labels]\nzone = k8s-zone\n",
		} {
			quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(password) + `"`
			if err := os.WriteFile(path, fmt.Appendf(nil, format, strconv.Quote("DOMAIN\\user"), quoted), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := readConfig(t, path).VCenters[1].Password.Reveal(); got != password {
				t.Fatalf("%q is read as %q", password, got)
			}
			if n := convertAndCompare(t, path); n != 2 {
				t.Errorf("%q: %d accounts", password, n)
			}
		}
	}
}

// A client certificate and its key are an account, too.
func TestCertificatesSurviveConversion(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(kind string, der []byte) string {
		return strconv.Quote(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	path := filepath.Join(t.TempDir(), "vsphere.conf")
	file := fmt.Sprintf("[VirtualCenter \"fd00::10\"]\nuser = %s\npassword = %s\n", quoted("CERTIFICATE", der),
		quoted("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := convertAndCompare(t, path); n != 1 {
		t.Errorf("%d accounts", n)
	}
}
