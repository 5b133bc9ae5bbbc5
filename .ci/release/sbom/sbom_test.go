package sbom

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/spdx/tools-golang/json"
)

// program builds the program that this package is a part of, which has modules, once.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "release")
	if out, err := exec.Command("go", "build", "-o", file, "vzones/ci/release").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(file)
})

// product is a product of the program.
func product(t *testing.T) *Product {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	modules, goVersion, err := Read(binary, binary)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&table, "| `%s` | %s | Apache-2.0, MIT |\n", m.Path, m.Version)
	}
	if err := WithLicenses(modules, table.String()); err != nil {
		t.Fatal(err)
	}
	return &Product{
		Name: "vzones", Version: "v1.37.0+x", License: "Apache-2.0", Revision: "6a9d8f",
		Created: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Go: goVersion, Modules: modules,
		Files: []File{{"vzones.tar.gz", strings.Repeat("ab", 32)}},
	}
}

func TestRead(t *testing.T) {
	p := product(t)
	i := slices.IndexFunc(p.Modules, func(m Module) bool { return m.Path == "github.com/CycloneDX/cyclonedx-go" })
	if i < 0 || !strings.HasPrefix(p.Modules[i].Sum, "h1:") || p.Modules[i].License != "Apache-2.0 AND MIT" {
		t.Errorf("%+v", p.Modules)
	}
	if !strings.HasPrefix(p.Go, "go1.") {
		t.Errorf("built by %q", p.Go)
	}
	if err := WithLicenses(p.Modules, "| `other` | v1.0.0 | MIT |\n"); err == nil {
		t.Error("modules without a license are accepted")
	}
	if _, _, err := Read([]byte("#!/bin/sh")); err == nil {
		t.Error("a script has modules")
	}
	if _, err := (Module{Sum: "h1:c2hvcnQ="}).SHA256(); err == nil {
		t.Error("a short hash is one")
	}
}

// TestSame: what is written is read back by the libraries with all modules, and is the
// same each time, but not for another file.
func TestSame(t *testing.T) {
	p := product(t)
	for name, format := range map[string]struct {
		write func(*Product) ([]byte, error)
		purls func([]byte) ([]string, error)
	}{
		"SPDX":      {(*Product).SPDX, spdxPURLs},
		"CycloneDX": {(*Product).CycloneDX, cyclonedxPURLs},
	} {
		text, err := format.write(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := format.write(product(t))
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: a second list differs: %v", name, err)
		}
		other := *p
		other.Files = []File{{"vzones.tar.gz", strings.Repeat("cd", 32)}}
		if again, err = format.write(&other); err != nil || bytes.Equal(text, again) {
			t.Errorf("%s: the list of another file is the same: %v", name, err)
		}
		var want []string
		for _, m := range p.all() {
			want = append(want, m.PURL())
		}
		got, err := format.purls(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q: %v", name, got, want, err)
		}
		for _, part := range []string{"2026-11-22T10:00:00Z", strings.Repeat("ab", 32), "pkg:golang/stdlib@1."} {
			if !bytes.Contains(text, []byte(part)) {
				t.Errorf("%s does not have %s", name, part)
			}
		}
	}
}

func spdxPURLs(text []byte) ([]string, error) {
	doc, err := json.Read(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range doc.Packages {
		for _, r := range p.PackageExternalReferences {
			all = append(all, r.Locator)
		}
	}
	return all, nil
}

func cyclonedxPURLs(text []byte) ([]string, error) {
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return nil, err
	}
	var all []string
	for _, c := range *bom.Components {
		all = append(all, c.PackageURL)
	}
	return all, nil
}
