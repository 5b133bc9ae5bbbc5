package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"vzones/ci/release/image"
	"vzones/ci/release/provenance"
	"vzones/ci/release/roots"
	"vzones/ci/release/sbom"
)

// An artifact is a file that is written, by its name.
type artifact struct {
	name    string
	content []byte
}

func (a artifact) file() sbom.File {
	sum := sha256.Sum256(a.content)
	return sbom.File{Name: a.name, SHA256: hex.EncodeToString(sum[:])}
}

// write writes the artifacts into a folder, which it makes.
func write(folder string, artifacts ...artifact) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, a := range artifacts {
		if err := os.WriteFile(filepath.Join(folder, a.name), a.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// makeImage writes the image's archive with its lists and its provenance.
func (o *options) makeImage(ctx context.Context) error {
	built, err := o.image(ctx, image.Command+".oci.tar")
	if err != nil {
		return err
	}
	statement, err := o.statement("image", []*sbom.Product{built.product}, built.files())
	if err != nil {
		return err
	}
	artifacts, err := built.artifacts(image.Command)
	if err != nil {
		return err
	}
	artifacts = append(artifacts, artifact{image.Command + ".provenance.json", statement})
	if err := write(o.out, artifacts...); err != nil {
		return err
	}
	for _, a := range artifacts {
		fmt.Fprintf(o.stdout, "%s: %.1f MB\n", filepath.Join(o.out, a.name), float64(len(a.content))/1e6)
	}
	fmt.Fprintf(o.stdout, "%s@%s\n", built.name, built.digest)
	return nil
}

// A builtImage is the image's archive and what is known of it.
type builtImage struct {
	archive artifact
	name    image.Name
	digest  v1.Hash
	product *sbom.Product
}

// files returns what a provenance is about: the archive, and the image in it.
func (b *builtImage) files() []sbom.File {
	return []sbom.File{b.archive.file(), {Name: b.name.Repository, SHA256: b.digest.Hex}}
}

// artifacts returns the archive, and the lists of what is in it.
func (b *builtImage) artifacts(name string) ([]artifact, error) {
	lists, err := lists(name, b.product)
	return append([]artifact{b.archive}, lists...), err
}

// lists returns what a product is made of, in both formats.
func lists(name string, p *sbom.Product) ([]artifact, error) {
	spdx, err := p.SPDX()
	if err != nil {
		return nil, fmt.Errorf("SPDX: %w", err)
	}
	cyclonedx, err := p.CycloneDX()
	if err != nil {
		return nil, fmt.Errorf("CycloneDX: %w", err)
	}
	return []artifact{{name + ".spdx.json", spdx}, {name + ".cdx.json", cyclonedx}}, nil
}

// image builds the image, reads back what was written, and runs it where this machine can.
func (o *options) image(ctx context.Context, file string) (*builtImage, error) {
	name, err := image.NewName(o.repository, o.version)
	if err != nil {
		return nil, err
	}
	spec := image.Spec{
		Version: o.version, Revision: o.commit, Source: o.address, Created: o.created,
		Binaries: map[string][]byte{},
	}
	var platforms []platform
	var binaries [][]byte
	for _, arch := range image.Architectures {
		p := platform{"linux", arch}
		fmt.Fprintf(o.stdout, "building %s for %s\n", image.Command, p)
		binary, err := o.build(ctx, image.Command, p)
		if err != nil {
			return nil, err
		}
		platforms, binaries = append(platforms, p), append(binaries, binary)
		spec.Binaries[arch] = binary
	}
	if spec.Authorities, _, err = roots.PEM(); err != nil {
		return nil, err
	}
	if spec.Licenses, err = o.licenses(ctx, image.Command, platforms...); err != nil {
		return nil, err
	}
	index, err := spec.Index()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	digest, err := image.Write(&b, index, name, o.created)
	if err != nil {
		return nil, err
	}
	if err := o.tryImage(ctx, b.Bytes()); err != nil {
		return nil, fmt.Errorf("the image that was built is wrong: %w", err)
	}
	built := &builtImage{archive: artifact{file, b.Bytes()}, name: name, digest: digest}
	if built.product, err = o.product(image.Command, binaries...); err != nil {
		return nil, err
	}
	authorities, err := ownModule(roots.Module, "BSD-3-Clause")
	if err != nil {
		return nil, err
	}
	built.product.Container = true
	built.product.Modules = append(built.product.Modules, authorities)
	built.product.Files = built.files()
	return built, nil
}

// tryImage reads an archive back, checks it, and runs the binary of this machine's
// architecture out of it.
func (o *options) tryImage(ctx context.Context, archive []byte) error {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, err := image.Read(bytes.NewReader(archive), dir)
	if err != nil {
		return err
	}
	if err := image.Check(index, image.Architectures...); err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		if runtime.GOOS != "linux" || m.Platform.Architecture != runtime.GOARCH {
			continue
		}
		img, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		files, err := image.Files(img)
		if err != nil {
			return err
		}
		binary := filepath.Join(dir, "binary")
		if err := os.WriteFile(binary, files[image.Entrypoint[1:]].Content, 0o700); err != nil {
			return err
		}
		said, err := output(o.command(ctx, nil, binary, "--version"))
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(said), "vzones "+o.version+"\n") {
			return fmt.Errorf("its --version is %q, want %s", said, o.version)
		}
	}
	return nil
}

// statement states what the products were made from.
func (o *options) statement(target string, products []*sbom.Product, files []sbom.File) ([]byte, error) {
	build := provenance.Build{
		Parameters: map[string]any{"target": target, "version": o.version, "image": o.repository, "source": o.address, "snapshot": o.snapshot},
		Internal:   map[string]any{"treeHasChanges": o.changed, "sourceDateEpoch": float64(o.created.Unix())},
		Source:     o.address, Revision: o.commit, Products: files,
	}
	seen := map[string]bool{}
	for _, p := range products {
		build.Go = p.Go
		for _, m := range p.Modules {
			if !seen[m.PURL()] {
				seen[m.PURL()] = true
				build.Modules = append(build.Modules, m)
			}
		}
	}
	return build.Statement()
}
