package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
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
	"vzones/config/parse"
	"vzones/vcenter/credentials"
)

// readConfig reads a configuration without the files that it names.
func readConfig(t *testing.T, path string) *config.Config {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parse.Options{SkipFiles: true}.Parse(path, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secretData returns what a Pod gets of a Secret's manifest.
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

// inFile says whether the daemon takes a vCenter's account from the file.
func inFile(vc *config.VCenter) bool {
	return vc.Secret == (config.SecretRef{}) && vc.SecretsDirectory == ""
}

// wholeWay converts a file to YAML and a Secret, and those to the CSI driver's file,
// and checks that the daemon gets for each vCenter the account that it got before. It
// returns how many accounts that were, and how many of them the CSI driver does not
// refuse.
func wholeWay(t *testing.T, path string) (accounts, taken int) {
	t.Helper()
	before := readConfig(t, path)
	dir := t.TempDir()
	converted, manifest, csi := filepath.Join(dir, "converted.yaml"), filepath.Join(dir, "secret.yaml"), filepath.Join(dir, "csi.conf")
	var stderr bytes.Buffer
	if status := run([]string{"convert", path, "--secret", manifest, "--output", converted}, nil, io.Discard, &stderr); status != right {
		t.Fatalf("status %d: %s", status, &stderr)
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
	if accounts < len(before.VCenters) {
		return accounts, 0
	}
	stderr.Reset()
	switch status := run([]string{"convert", converted, "--to", "csi", "--credentials", manifest, "--output", csi}, nil, io.Discard, &stderr); status {
	case right:
	case findings:
		if _, err := os.Stat(csi); err == nil {
			t.Errorf("%s: there are mistakes and a file", path)
		}
		for line := range strings.Lines(stderr.String()) {
			if !strings.Contains(line, "CSI driver") {
				t.Errorf("%s: %s", path, line)
			}
		}
		return accounts, 0
	default:
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for i, vc := range readConfig(t, csi).VCenters {
		if was := before.VCenters[i]; vc.Server != was.Server || vc.User != was.User || !vc.Password.Equal(was.Password) {
			t.Errorf("%s: in the CSI driver's file %s has another account: %s", path, was.Server, vc.User)
		}
	}
	return accounts, accounts
}

// TestTheWholeWay: the accounts of all files that are right come through.
func TestTheWholeWay(t *testing.T) {
	accounts, taken := 0, 0
	for _, folder := range []string{"good", "ini-good"} {
		for _, given := range configtest.Cases(t, folder) {
			a, c := wholeWay(t, configtest.Path(t, folder, given.File))
			accounts, taken = accounts+a, taken+c
		}
	}
	if accounts < 40 || taken < 10 {
		t.Errorf("only %d accounts, and %d for the CSI driver", accounts, taken)
	}
}

// TestOddPasswordsGoTheWholeWay, in both formats, for addresses that are keys of a
// Secret and those that are not.
func TestOddPasswordsGoTheWholeWay(t *testing.T) {
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
			if _, n := wholeWay(t, path); n != 2 {
				t.Errorf("%q: %d accounts", password, n)
			}
		}
	}
}

// TestCertificatesGoTheWholeWay: a certificate and its key are an account too, but not
// for the CSI driver.
func TestCertificatesGoTheWholeWay(t *testing.T) {
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
	if n, taken := wholeWay(t, path); n != 1 || taken != 0 {
		t.Errorf("%d accounts, and %d for the CSI driver", n, taken)
	}
}

// TestCSIGetsWhatTheDaemonGets of a Secret, whatever its shape.
func TestCSIGetsWhatTheDaemonGets(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "vcenter:\n  VC.example.com:\n    secretName: s\n    secretNamespace: n\n    user: own@x\n    password: OwnS3cret\n"
	if err := os.WriteFile("f.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ data, want, lost string }{
		{"{VC.example.com.username: u@x, VC.example.com.password: S3cret}", "u@x S3cret", ""},
		{`{VC.example.com.username: "u@x\n", VC.example.com.password: "S3cret\n"}`, "u@x S3cret", ""},
		{"{vc.example.com.username: u@x, vc.example.com.password: S3cret}", "u@x S3cret", ""},
		{"{VC.example.com.username: u@x, VC.example.com.password: S3cret, server_a: vc.example.com, username_a: v@x, password_a: S3cretA}", "v@x S3cretA", ""},
		{"{other.username: u@x, other.password: S3cret}", "own@x OwnS3cret", ""},
		{"{VC.example.com.username: u@x}", "own@x OwnS3cret", `the key "VC.example.com.password" is missing`},
		{"{VC.example.com.username: u@x, VC.example.com.password: S3cret, VC.example.com.vc-session-manager-url: 'https://s.example.com/', VC.example.com.vc-session-manager-token: t}",
			"own@x OwnS3cret", "f.yaml:3: not carried over: vcenter[\"VC.example.com\"].secretName: the account of VC.example.com in the Secret n/s: " +
				"it is a session manager's session, which is not converted: give the CSI driver an account, since its release 3.7 reads no session manager, " +
				"or write vc-session-manager-url and vc-session-manager-token into the new file for one that does, such as 3.6\n"},
	} {
		manifest := "kind: Secret\nmetadata: {name: s, namespace: n}\nstringData: " + c.data + "\n"
		var out, stderr bytes.Buffer
		args := []string{"convert", "f.yaml", "--to", "csi", "--credentials", "-", "--cluster-id", "c", "--output", "-"}
		if status := run(args, strings.NewReader(manifest), &out, &stderr); status != right {
			t.Fatalf("%s: status %d: %s", c.data, status, &stderr)
		}
		got, err := parse.Parse("csi.conf", out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		vc := &got.VCenters[0]
		if vc.User+" "+vc.Password.Reveal() != c.want || c.lost == "" != (stderr.Len() == 0) || !strings.Contains(stderr.String(), c.lost) ||
			strings.Contains(stderr.String(), "S3cret") {
			t.Errorf("%s: got %s, told %s", c.data, vc.User, &stderr)
		}
	}
}
