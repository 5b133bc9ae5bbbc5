// Package configtest contains helpers for tests of config and the packages below it.
package configtest

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"vzones/config"
)

var update bool

// A Case is an input below testdata, in an archive or a file.
type Case struct {
	// Name is the file name without its extension, File with it.
	Name, File string
	Data       []byte
	// Environ contains the environment variables of the file NAME.env, one per line.
	Environ []string
	archive string
}

// Cases returns the inputs in a folder below testdata.
func Cases(t testing.TB, folder string) []Case {
	t.Helper()
	var cases []Case
	add := func(archive, file string, data []byte) {
		name := strings.TrimSuffix(file, filepath.Ext(file))
		ext := filepath.Ext(file)
		switch {
		case ext == ".env":
			for line := range strings.Lines(string(data)) {
				line = strings.TrimSuffix(line, "\n")
				if text, err := strconv.Unquote(line); err == nil {
					line = text
				}
				cases[len(cases)-1].Environ = append(cases[len(cases)-1].Environ, line)
			}
		case ext != ".txt" && !strings.HasSuffix(name, ".effective"):
			cases = append(cases, Case{Name: name, File: file, Data: data, archive: archive})
		}
	}
	paths, err := filepath.Glob(filepath.Join(Root(t), "testdata", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if filepath.Ext(path) != ".txtar" {
			add(filepath.Dir(path), filepath.Base(path), read(t, path))
			continue
		}
		for _, f := range txtar.Parse(read(t, path)).Files {
			add(path, f.Name, f.Data)
		}
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.File, b.File) })
	return cases
}

// Root returns the path of the folder config.
func Root(t testing.TB) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		for _, root := range []string{dir, filepath.Join(dir, "config")} {
			if _, err := os.Stat(filepath.Join(root, "testdata", "ini-good")); err == nil {
				return root
			}
		}
		if len(dir) > 30 {
			t.Fatal("no folder config/testdata")
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Each runs test with every input of a folder.
func Each(t *testing.T, folder string, least int, test func(t *testing.T, c Case)) {
	cases := Cases(t, folder)
	if len(cases) < least {
		t.Fatalf("%d inputs in %s, want at least %d", len(cases), folder, least)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { test(t, c) })
	}
}

// Path writes an input to a temporary file.
func Path(t *testing.T, folder, file string) string {
	t.Helper()
	cases := Cases(t, folder)
	i := slices.IndexFunc(cases, func(c Case) bool { return c.File == file })
	if i < 0 {
		t.Fatalf("there is no %s in %s", file, folder)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, cases[i].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Want returns the expected output of the input, with the extension ext.
func (c Case) Want(t testing.TB, ext string) []byte {
	t.Helper()
	if filepath.Ext(c.archive) != ".txtar" {
		return read(t, filepath.Join(c.archive, c.Name+ext))
	}
	for _, f := range txtar.Parse(read(t, c.archive)).Files {
		if f.Name == c.Name+ext {
			return f.Data
		}
	}
	t.Fatalf("%s has no %s", c.archive, c.Name+ext)
	return nil
}

// Golden compares got with the expected output, or writes it with -update.
func (c Case) Golden(t *testing.T, ext, got string) {
	t.Helper()
	name := c.Name + ext
	if filepath.Ext(c.archive) != ".txtar" {
		GoldenFile(t, filepath.Join(c.archive, name), got)
		return
	}
	if update {
		a := txtar.Parse(read(t, c.archive))
		i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
		if i < 0 {
			i = 1 + slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == c.File })
			a.Files = slices.Insert(a.Files, i, txtar.File{Name: name})
		}
		a.Files[i].Data = []byte(got)
		if err := os.WriteFile(c.archive, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(c.Want(t, ext)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// GoldenFile compares got with a file, or writes it with -update.
func GoldenFile(t *testing.T, path, got string) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(read(t, path)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// AnAccount is the account of an entry in YAML.
const AnAccount = "    user: user\n    password: password\n"

// passwords returns the values under keys named password that occur once in the file and cannot be
// words of a message.
func passwords(data []byte) []string {
	var root yaml.Node
	if yaml.Unmarshal(data, &root) != nil {
		return nil
	}
	var found []string
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			walk(child)
			if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "password" &&
				child.Kind == yaml.ScalarNode && len(child.Value) >= 8 && strings.ContainsAny(child.Value, "0123456789") &&
				strings.ContainsAny(child.Value, "abcdefghijklmnopqrstuvwxyz") && bytes.Count(data, []byte(child.Value)) == 1 {
				found = append(found, child.Value)
			}
		}
	}
	walk(&root)
	return found
}

var iniPassword = regexp.MustCompile(`(?i)^[ \t]*password[ \t]*=[ \t]*"?([^"\\;#\r\n]*)`)

// INIPasswords returns the same as passwords for the INI format.
func INIPasswords(data []byte) []string {
	var found []string
	continued := false
	for line := range strings.Lines(string(data)) {
		match := iniPassword.FindStringSubmatch(line)
		if match != nil && !continued {
			value := strings.TrimSpace(match[1])
			if len(value) >= 8 && strings.ContainsAny(value, "0123456789") && strings.ContainsAny(value, "abcdefghijklmnopqrstuvwxyz") &&
				bytes.Count(data, []byte(value)) == 1 {
				found = append(found, value)
			}
		}
		continued = strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`)
	}
	return found
}

// Main runs the tests of a package in the folder config, so that paths begin with testdata.
func Main(m *testing.M) int {
	flag.BoolVar(&update, "update", false, "rewrite the golden files")
	for {
		if _, err := os.Stat("testdata/ini-good"); err == nil {
			return m.Run()
		}
		parent := ".."
		if _, err := os.Stat("config/testdata/ini-good"); err == nil {
			parent = "config"
		}
		if err := os.Chdir(parent); err != nil {
			panic(err)
		}
	}
}

// SecretsOf returns the passwords in a file.
func SecretsOf(data []byte, isINI bool) []string {
	if isINI {
		return append(passwords(data), INIPasswords(data)...)
	}
	return passwords(data)
}

// WarningsOf returns the texts of the warnings.
func WarningsOf(c *config.Config) []string {
	var texts []string
	for _, w := range c.Warnings {
		texts = append(texts, w.Error())
	}
	return texts
}

// TestAccount is a certificate and its key as PEM.
type TestAccount struct{ Certificate, Key string }

// NewAccount returns a self-signed certificate for the key.
func NewAccount(t *testing.T, key crypto.Signer, notBefore, notAfter time.Time) TestAccount {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vzones"}, NotBefore: notBefore, NotAfter: notAfter,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return TestAccount{Armor("CERTIFICATE", certificate), Armor("PRIVATE KEY", der)}
}

// Armor returns DER as PEM.
func Armor(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// RSAKey generates an RSA key.
func RSAKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
