package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"vzones/ci/release/archive"
	"vzones/ci/release/image"
	"vzones/ci/release/sbom"
)

// tool is the operator's tool, and toolPlatforms are what it is built for.
const tool = "vzones"

var toolPlatforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// versions matches what a release may be called: v1.2.3, or v1.2.3-rc.1.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// ready returns the notes of the release, or says what is in the way of it.
func (o *options) ready(ctx context.Context) (notes string, err error) {
	if !versions.MatchString(o.version) {
		return "", fmt.Errorf("version %q is not of the form v1.2.3 or v1.2.3-rc.1", o.version)
	}
	if err := o.followsKubernetes(ctx, o.version); err != nil {
		return "", err
	}
	changelog, err := o.read("CHANGELOG.md")
	if err != nil {
		return "", err
	}
	if notes, err = section(string(changelog), o.version[1:]); err != nil && o.snapshot {
		notes, err = section(string(changelog), "Unreleased")
	}
	if o.snapshot {
		return notes, err
	}
	var all []error
	if err != nil {
		all = append(all, err)
	}
	if o.commit == "" {
		all = append(all, errors.New("a release is made in a clone, and git does not know this folder"))
	}
	if o.changed {
		all = append(all, errors.New("the tree has changes: commit them, or look at them with git status"))
	}
	// No tag is fine: it may be set once the files have been looked at.
	if tagged, err := o.git(ctx, "rev-parse", "--verify", "--quiet", "refs/tags/"+o.version+"^{commit}"); err == nil && tagged != o.commit {
		all = append(all, fmt.Errorf("the tag %s is on %s, and %s is checked out", o.version, tagged, o.commit))
	}
	if len(all) > 0 {
		all = append(all, errors.New("SNAPSHOT=1 tries a release all the same"))
	}
	return notes, errors.Join(all...)
}

// libraries is the module whose minor a release has for its own.
const libraries = "k8s.io/cloud-provider"

// followsKubernetes returns an error unless a version is v1.X.Y where the Kubernetes
// libraries that are built in are v0.X.
func (o *options) followsKubernetes(ctx context.Context, version string) error {
	// It reads the file alone: it needs no network and no module.
	text, err := output(o.command(ctx, nil, "go", "mod", "edit", "-json"))
	if err != nil {
		return err
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		return fmt.Errorf("go.mod: %w", err)
	}
	for _, r := range mod.Require {
		if r.Path != libraries {
			continue
		}
		minor := strings.Split(r.Version, ".")[1]
		if !strings.HasPrefix(version, "v1."+minor+".") {
			return fmt.Errorf("version %s: go.mod has %s %s, so that a release is v1.%s.Y", version, libraries, r.Version, minor)
		}
		return nil
	}
	return fmt.Errorf("go.mod does not require %s, whose minor a release has", libraries)
}

// makeDist writes all files of a release.
func (o *options) makeDist(ctx context.Context) error {
	notes, err := o.ready(ctx)
	if err != nil {
		return err
	}
	all, err := o.tool(ctx)
	if err != nil {
		return err
	}
	products := []*sbom.Product{all.product}
	artifacts := all.artifacts
	built, err := o.image(ctx, fmt.Sprintf("%s_%s_image.oci.tar", image.Command, o.version))
	if err != nil {
		return err
	}
	products = append(products, built.product)
	more, err := built.artifacts(image.Command + "_" + o.version)
	if err != nil {
		return err
	}
	artifacts = append(artifacts, more...)
	if more, err = o.manifests(ctx, built.name); err != nil {
		return err
	}
	artifacts = append(artifacts, more...)
	notes = fmt.Sprintf("# vzones %s\n\n%s\n\n## The image\n\n`%s`, by its digest `%s`: "+
		"`%s` has it for linux/amd64 and linux/arm64.\n", o.version, notes, built.name, built.digest, built.archive.name)
	artifacts = append(artifacts, artifact{"RELEASE_NOTES.md", []byte(notes)})

	files := []sbom.File{built.files()[1]}
	for _, a := range artifacts {
		files = append(files, a.file())
	}
	statement, err := o.statement("release", products, files)
	if err != nil {
		return err
	}
	artifacts = append(artifacts, artifact{tool + "_" + o.version + ".provenance.json", statement})
	artifacts = append(artifacts, artifact{"SHA256SUMS", sums(artifacts)})
	return o.replace(artifacts)
}

// replace writes the artifacts into the folder in place of what was there.
func (o *options) replace(artifacts []artifact) error {
	// Whoever names a folder with something else in it does not lose that.
	if entries, err := os.ReadDir(o.out); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(o.out, "SHA256SUMS")); err != nil {
			return fmt.Errorf("%s has files and no SHA256SUMS: it is not a release's folder", o.out)
		}
		if err := os.RemoveAll(o.out); err != nil {
			return err
		}
	}
	if err := write(o.out, artifacts...); err != nil {
		return err
	}
	for _, a := range artifacts {
		fmt.Fprintf(o.stdout, "%s: %.1f MB\n", filepath.Join(o.out, a.name), float64(len(a.content))/1e6)
	}
	return nil
}

// sums returns the file that sha256sum --check reads.
func sums(artifacts []artifact) []byte {
	var b bytes.Buffer
	for _, a := range slices.SortedFunc(slices.Values(artifacts), func(a, b artifact) int { return cmp.Compare(a.name, b.name) }) {
		fmt.Fprintf(&b, "%s  %s\n", a.file().SHA256, a.name)
	}
	return b.Bytes()
}

// builtTool are the archives of the tool and what is known of them.
type builtTool struct {
	artifacts []artifact
	product   *sbom.Product
}

// tool builds the operator's tool for all platforms.
func (o *options) tool(ctx context.Context) (*builtTool, error) {
	var built builtTool
	var binaries [][]byte
	licenses, err := o.licenses(ctx, tool, toolPlatforms...)
	if err != nil {
		return nil, err
	}
	for _, p := range toolPlatforms {
		fmt.Fprintf(o.stdout, "building %s for %s\n", tool, p)
		binary, err := o.build(ctx, tool, p)
		if err != nil {
			return nil, err
		}
		packed, err := o.pack(p, binary, licenses)
		if err != nil {
			return nil, err
		}
		binaries, built.artifacts = append(binaries, binary), append(built.artifacts, packed)
	}
	if built.product, err = o.product(tool, binaries...); err != nil {
		return nil, err
	}
	for _, a := range built.artifacts {
		built.product.Files = append(built.product.Files, a.file())
	}
	more, err := lists(tool+"_"+o.version, built.product)
	built.artifacts = append(built.artifacts, more...)
	return &built, err
}

// pack returns the archive of the tool for a platform: a zip archive for Windows.
func (o *options) pack(p platform, binary []byte, licenses map[string][]byte) (artifact, error) {
	name := fmt.Sprintf("%s_%s_%s_%s", tool, o.version, p.os, p.arch)
	file, extension, writer := tool, ".tar.gz", archive.TarGz
	if p.os == "windows" {
		file, extension, writer = tool+".exe", ".zip", archive.Zip
	}
	entries := []archive.Entry{{Name: file, Mode: 0o755, Content: binary}}
	for name, text := range licenses {
		entries = append(entries, archive.Entry{Name: name, Mode: 0o644, Content: text})
	}
	var b bytes.Buffer
	if err := writer(&b, o.created, archive.Below(name, entries...)...); err != nil {
		return artifact{}, err
	}
	return artifact{name + extension, b.Bytes()}, nil
}
