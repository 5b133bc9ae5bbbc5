// Package notices gathers the texts that the licenses of what is linked want to be passed
// on with a binary: the licenses and notices in the modules themselves.
package notices

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// texts are the names of files that hold a license or a notice.
var texts = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense|notice)([-_.].*)?$`)

// A Package is one of `go list -deps -json=Dir,Standard,Module`.
type Package struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// Packages reads what `go list -json` has printed.
func Packages(listed io.Reader) ([]Package, error) {
	var all []Package
	for d := json.NewDecoder(listed); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if !p.Standard && p.Module != nil && !p.Module.Main {
			all = append(all, p)
		}
	}
}

// Text returns the texts of all packages' modules, each text once with the modules that
// it is for, and first that of Go itself, by the file that it is in.
func Text(packages []Package, goLicense string) ([]byte, error) {
	modules := map[string][]string{} // by text
	add := func(file, of string) error {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n"))
		if text != "" && !slices.Contains(modules[text], of) {
			modules[text] = append(modules[text], of)
		}
		return nil
	}
	if err := add(goLicense, "Go's standard library"); err != nil {
		// Packages of distributions have it elsewhere, perhaps changed.
		return nil, fmt.Errorf("the license of Go, which has to be passed on, is missing: %w: "+
			"take Go from https://go.dev/dl, whose archive has it, or put it there", err)
	}
	for folder, of := range folders(packages) {
		found, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			info, err := os.Lstat(file)
			if err != nil {
				return nil, err
			}
			if !info.Mode().IsRegular() || !texts.MatchString(info.Name()) || strings.HasSuffix(file, ".go") {
				continue
			}
			if err := add(file, of); err != nil {
				return nil, err
			}
		}
	}
	type section struct{ head, text string }
	var all []section
	for text, of := range modules {
		slices.Sort(of)
		all = append(all, section{strings.Join(of, "\n"), text})
	}
	slices.SortFunc(all, func(a, b section) int { return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.text, b.text)) })
	var b bytes.Buffer
	b.WriteString("Texts of the licenses of what this program is linked with.\n")
	for _, s := range all {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 72), s.head, s.text)
	}
	return b.Bytes(), nil
}

// folders returns the folders that a license of a linked package may be in, from its own
// up to the module's root, each with the module's name.
func folders(packages []Package) map[string]string {
	all := map[string]string{}
	for _, p := range packages {
		of := p.Module.Path + " " + p.Module.Version
		for d := p.Dir; len(d) >= len(p.Module.Dir); d = filepath.Dir(d) {
			all[d] = of
		}
	}
	return all
}
