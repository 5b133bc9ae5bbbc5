// Package configtest helps to test the packages below config.
package configtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"vzones/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares got with the .txt file beside a file.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	GoldenFile(t, strings.TrimSuffix(file, filepath.Ext(file))+".txt", got)
}

// GoldenFile compares got with a file, which -update writes.
func GoldenFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// EachFile runs test with every file of a folder under testdata but the golden
// ones. Messages name a file without its folder.
func EachFile(t *testing.T, folder string, least int, test func(t *testing.T, path, file string, data []byte)) {
	paths := Files(t, folder)
	if len(paths) < least {
		t.Fatalf("%d files in %s, want at least %d", len(paths), folder, least)
	}
	for _, path := range paths {
		file := filepath.Base(path)
		t.Run(strings.TrimSuffix(file, filepath.Ext(file)), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, path, file, data)
		})
	}
}

// Files returns the files of a folder under testdata but the golden ones.
func Files(t testing.TB, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return filepath.Ext(path) == ".txt" })
}

const AnAccount = "    user: user\n    password: password\n"

// passwords returns, by a walk of its own, the values under keys named password
// that are nowhere else in the file and, with a letter and a digit, no word of a
// message.
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

// iniPasswords returns, by lines alone, the values of keys named password, with
// the same exceptions as passwords.
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

// Main runs the tests of a package below config in that folder, so that paths begin with
// testdata.
func Main(m *testing.M) {
	for {
		if _, err := os.Stat("testdata/good"); err == nil {
			os.Exit(m.Run())
		}
		if err := os.Chdir(".."); err != nil {
			panic(err)
		}
	}
}

// SecretsOf returns the passwords of a file, by walks of its own.
func SecretsOf(data []byte, isINI bool) []string {
	if isINI {
		return append(passwords(data), INIPasswords(data)...)
	}
	return passwords(data)
}

// WarningsOf returns the texts of the warnings.
func WarningsOf(c *config.Config) []string {
	var all []string
	for _, w := range c.Warnings {
		all = append(all, w.String())
	}
	return all
}
