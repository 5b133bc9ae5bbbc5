package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"vzones/ci/release/notices"
	"vzones/ci/release/sbom"
)

// A platform is what a binary runs on.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// passedOn are the settings of Go that say where modules and the toolchain come from and
// where they are kept. What is built does not depend on them, for go.sum has the hashes.
var passedOn = []string{
	"GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH",
	"GOMODCACHE", "GOCACHE", "GOTOOLCHAIN",
}

// env returns the variables that decide what a build makes, whatever the machine has set
// in its environment or in Go's file of settings.
func (t *tree) env(ctx context.Context, p platform) ([]string, error) {
	out, err := output(t.command(ctx, nil, "go", append([]string{"env", "-json"}, passedOn...)...))
	if err != nil {
		return nil, err
	}
	var settings map[string]string
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	all := []string{
		// An empty variable does not hide the one in the file.
		"GOENV=off", "GOFLAGS=-mod=readonly", "GO111MODULE=on", "GOWORK=off",
		"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
	}
	for _, name := range passedOn {
		all = append(all, name+"="+settings[name])
	}
	return all, nil
}

// build builds a command with make build, which alone knows how, and returns the binary.
func (t *tree) build(ctx context.Context, name string, p platform, variables ...string) (binary []byte, err error) {
	bin, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(bin)
	args := append([]string{
		"--no-print-directory", "build", "COMMANDS=./cmd/" + name, "BIN=" + bin,
		"VERSION=" + t.version, "COMMIT=" + t.commit,
	}, variables...)
	env, err := t.env(ctx, p)
	if err != nil {
		return nil, err
	}
	cmd := t.command(ctx, env, "make", args...)
	if _, err := output(cmd); err != nil {
		return nil, fmt.Errorf("building %s for %s: %w", name, p, err)
	}
	if p.os == "windows" {
		name += ".exe"
	}
	return os.ReadFile(filepath.Join(bin, name))
}

// licenses returns the license of the program and those of what it is linked with, by
// file name.
func (t *tree) licenses(ctx context.Context, name string, platforms ...platform) (map[string][]byte, error) {
	own, err := t.read("LICENSE")
	if err != nil {
		return nil, err
	}
	goroot, err := output(t.command(ctx, nil, "go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	var all []notices.Package
	for _, p := range platforms {
		env, err := t.env(ctx, p)
		if err != nil {
			return nil, err
		}
		listed, err := output(t.command(ctx, env, "go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/"+name))
		if err != nil {
			return nil, err
		}
		packages, err := notices.Packages(bytes.NewReader(listed))
		if err != nil {
			return nil, err
		}
		all = append(all, packages...)
	}
	others, err := notices.Text(all, filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE"))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"LICENSE": own, "THIRD-PARTY.txt": others}, nil
}

// product returns what the binaries are made of, with licenses.
func (t *tree) product(name string, binaries ...[]byte) (*sbom.Product, error) {
	modules, goVersion, err := sbom.Read(binaries...)
	if err != nil {
		return nil, err
	}
	table, err := t.read("docs/reference/licenses.md")
	if err != nil {
		return nil, err
	}
	if err := sbom.WithLicenses(modules, string(table)); err != nil {
		return nil, err
	}
	return &sbom.Product{
		Name: name, Version: t.version, License: "Apache-2.0", Revision: t.commit, Created: t.created,
		Go: goVersion, Modules: modules,
	}, nil
}

// ownModule returns a module that this program is built with.
func ownModule(path, license string) (sbom.Module, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return sbom.Module{}, fmt.Errorf("%s: this program has no build information", path)
	}
	for _, d := range info.Deps {
		if d.Path == path && d.Replace == nil {
			return sbom.Module{Path: d.Path, Version: d.Version, Sum: d.Sum, License: license}, nil
		}
	}
	return sbom.Module{}, fmt.Errorf("%s: this program is not built with it", path)
}
