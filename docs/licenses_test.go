package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of licenses and the kinds of findings")

// licenses are those that what is shipped may be under, by a sentence that each text has.
// What is more than one sentence has to be in the text in this order.
var licenses = []struct{ name, text string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"BSD-3-Clause", "Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met: … " +
		"Redistributions in binary form must reproduce … endorse or promote products"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met: … " +
		"Redistributions in binary form must reproduce"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files … " +
		"The above copyright notice and this permission notice shall be included in all"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"},
}

// others are what no allowed license has.
var others = regexp.MustCompile(`(?i)GNU (?:Affero |Lesser |Library )?General Public License|Mozilla Public License|Server Side Public License|Business Source License|Commons Clause|Creative Commons`)

// licenseOf returns the name of the license that a text is, "" for one that is not known.
// Files of several are named by all of them.
func licenseOf(text string) string {
	text = strings.Join(strings.Fields(strings.NewReplacer("//", " ", "*", " ", "#", " ").Replace(text)), " ")
	var found []string
	for _, l := range licenses {
		rest, all := text, true
		for part := range strings.SplitSeq(l.text, " … ") {
			i := strings.Index(strings.ToLower(rest), strings.ToLower(part))
			if all = i >= 0; !all {
				break
			}
			rest = rest[i+len(part):]
		}
		if all && !slices.Contains(found, l.name) && (l.name != "BSD-2-Clause" || !slices.Contains(found, "BSD-3-Clause")) {
			found = append(found, l.name)
		}
	}
	if others.MatchString(text) {
		return ""
	}
	return strings.Join(found, " and ")
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-_.].*)?$`)

// dependency is a module of which something is linked.
type dependency struct {
	path, version, dir string
	packages           []string // the folders of what is linked
}

// license returns what a dependency is under: the files at its root, and those beside
// and above each package that is linked.
func (d *dependency) license() (string, error) {
	folders := map[string]bool{d.dir: true}
	for _, p := range d.packages {
		for ; len(p) > len(d.dir); p = filepath.Dir(p) {
			folders[p] = true
		}
	}
	var found []string
	for folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return "", err
			}
			name := licenseOf(string(text))
			if name == "" {
				return "", fmt.Errorf("%s is not a license that is allowed, or not one that is known", filepath.Join(folder, e.Name()))
			}
			for part := range strings.SplitSeq(name, " and ") {
				if !slices.Contains(found, part) {
					found = append(found, part)
				}
			}
		}
	}
	if len(found) == 0 {
		return "", errors.New("there is no license in it")
	}
	slices.Sort(found)
	return strings.Join(found, ", "), nil
}

// dependencies returns the modules that the commands are built of: both for Linux, and the
// tool for what else it is released for.
func dependencies(t *testing.T) []*dependency {
	t.Helper()
	all := map[string]*dependency{}
	for platform, commands := range map[string]string{
		"linux/amd64": "./cmd/...", "linux/arm64": "./cmd/...",
		"darwin/amd64": "./cmd/vzones", "darwin/arm64": "./cmd/vzones",
		"windows/amd64": "./cmd/vzones", "windows/arm64": "./cmd/vzones",
	} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,Standard,Module", commands)
		cmd.Dir = ".."
		system, arch, _ := strings.Cut(platform, "/")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		decoder := json.NewDecoder(bytes.NewReader(out))
		for {
			var p struct {
				Dir      string
				Standard bool
				Module   *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Standard || p.Module == nil || p.Module.Main {
				continue
			}
			d := all[p.Module.Path]
			if d == nil {
				d = &dependency{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir}
				all[d.path] = d
			}
			d.packages = append(d.packages, p.Dir)
		}
	}
	var sorted []*dependency
	for _, d := range all {
		sorted = append(sorted, d)
	}
	slices.SortFunc(sorted, func(a, b *dependency) int { return strings.Compare(a.path, b.path) })
	return sorted
}

// TestLicenses: everything that is linked is under a license that is allowed, and listed.
func TestLicenses(t *testing.T) {
	const file, head = "reference/licenses.md", "| module | version | license |\n|---|---|---|\n"
	var table strings.Builder
	table.WriteString(head)
	deps := dependencies(t)
	for _, d := range deps {
		name, err := d.license()
		if err != nil {
			t.Errorf("%s %s: %v", d.path, d.version, err)
			continue
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", d.path, d.version, name)
	}
	if len(deps) == 0 {
		t.Fatal("the commands have no dependencies")
	}
	text := read(t, file)
	before, _, ok := strings.Cut(text, head)
	if !ok {
		t.Fatalf("%s has no table", file)
	}
	if want := before + table.String(); text != want {
		if !*update {
			t.Fatalf("%s is not current: look at what has changed, then go test ./docs -run TestLicenses -update", file)
		}
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnknownLicenses: a dependency that nobody has looked at is a failure.
func TestUnknownLicenses(t *testing.T) {
	for name, text := range map[string]string{
		"":           "All rights reserved.",
		"Apache-2.0": "                 Apache License\n           Version 2.0, January 2004\n",
	} {
		if got := licenseOf(text); got != name {
			t.Errorf("%.40q is %q, want %q", text, got, name)
		}
	}
	for _, text := range []string{
		"GNU GENERAL PUBLIC LICENSE\nVersion 3", "Mozilla Public License Version 2.0", "Apache License Version 2.0, January 2004\nwith the Commons Clause",
	} {
		if got := licenseOf(text); got != "" {
			t.Errorf("%.40q is %q", text, got)
		}
	}
	dir := t.TempDir()
	sub := filepath.Join(dir, "third_party", "x")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	d := &dependency{path: "example.com/x", dir: dir, packages: []string{sub}}
	if _, err := d.license(); err == nil {
		t.Error("a module without a license is allowed")
	}
	for path, text := range map[string]string{filepath.Join(dir, "LICENSE"): "Apache License Version 2.0, January 2004", filepath.Join(sub, "LICENSE.txt"): "Pay me."} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if name, err := d.license(); err == nil || !strings.Contains(err.Error(), "LICENSE.txt") {
		t.Errorf("a package with another license inside is %q, %v", name, err)
	}
}
