// Package sbom lists what a program is made of, as the program itself says: the modules
// that the linker has put into its build information. It writes the list as SPDX and as
// CycloneDX, the same from equal inputs.
package sbom

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Module is a Go module of which something is in the product.
type Module struct {
	// Path and Version are those of the module, or of what replaces it.
	Path, Version string
	// Sum is the hash of its content as in go.sum, such as "h1:…".
	Sum string
	// License is an SPDX expression, "" if not known.
	License string
}

// PURL returns the package URL.
func (m Module) PURL() string {
	// "+" separates metadata in versions, and is a space in queries.
	return "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
}

// SHA256 returns Sum in hexadecimal: the hash of the list of the files' hashes.
func (m Module) SHA256() (string, error) {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) != 32 || !strings.HasPrefix(m.Sum, "h1:") {
		return "", fmt.Errorf("module %s %s: %q is not a hash", m.Path, m.Version, m.Sum)
	}
	return hex.EncodeToString(sum), nil
}

// A File is what the list is of: a binary, or an archive with it.
type File struct{ Name, SHA256 string }

// A Product is what a list is for.
type Product struct {
	// Name and Version are those of the program. License is its own.
	Name, Version, License string
	// Revision is the commit, "" if not known. Created is its time.
	Revision string
	Created  time.Time
	// Container says that it is an image, not a program.
	Container bool
	Files     []File
	// Go is the release of Go that built it, such as go1.26.8.
	Go      string
	Modules []Module
}

// id returns a UUID that follows from the product: another file gives another one.
func (p *Product) id() uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s %s %s %v %v", p.Name, p.Version, p.Revision, p.Files, p.Modules))
}

// standard returns Go's standard library, by the name that scanners know it by.
func (p *Product) standard() Module {
	return Module{Path: "stdlib", Version: strings.TrimPrefix(p.Go, "go"), License: "BSD-3-Clause"}
}

// all returns the standard library and the modules.
func (p *Product) all() []Module { return append([]Module{p.standard()}, p.Modules...) }

// Read returns the modules of all of the binaries, sorted, and the release of Go that
// built them. The program's own module, which a binary has no hash of, is not among them.
func Read(binaries ...[]byte) (modules []Module, goVersion string, err error) {
	found := map[Module]bool{}
	for i, b := range binaries {
		info, err := buildinfo.Read(bytes.NewReader(b))
		if err != nil {
			return nil, "", fmt.Errorf("binary %d: %w", i+1, err)
		}
		if goVersion != "" && info.GoVersion != goVersion {
			return nil, "", fmt.Errorf("binary %d is built by %s, others by %s", i+1, info.GoVersion, goVersion)
		}
		goVersion = info.GoVersion
		for _, d := range info.Deps {
			found[module(d)] = true
		}
	}
	modules = slices.SortedFunc(maps.Keys(found), func(a, b Module) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Version, b.Version))
	})
	for _, m := range modules {
		if _, err := m.SHA256(); err != nil {
			return nil, "", err
		}
	}
	return modules, goVersion, nil
}

// module returns what a dependency is, or is replaced by.
func module(d *debug.Module) Module {
	if d.Replace != nil {
		d = d.Replace
	}
	return Module{Path: d.Path, Version: d.Version, Sum: d.Sum}
}

// WithLicenses sets the licenses by the table of docs/reference/licenses.md, which a test
// compares with the modules' own files. A module that it does not have is an error.
func WithLicenses(modules []Module, table string) error {
	known := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		path := strings.Trim(cells[1], " `")
		known[path+" "+strings.TrimSpace(cells[2])] = strings.ReplaceAll(strings.TrimSpace(cells[3]), ", ", " AND ")
	}
	for i, m := range modules {
		license, ok := known[m.Path+" "+m.Version]
		if !ok {
			return fmt.Errorf("docs/reference/licenses.md does not have %s %s: go test ./docs -run TestLicenses -update", m.Path, m.Version)
		}
		modules[i].License = license
	}
	return nil
}
