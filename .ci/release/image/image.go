// Package image makes the daemon's container image without a container engine: an OCI
// image layout for several architectures, in a tar archive. What the image consists of is
// in Spec, and nothing of the machine that it is made on gets into it.
package image

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"vzones/ci/release/archive"
)

// What the image has in common with the one that the Dockerfile builds.
const (
	Command    = "vsphere-cloud-controller-manager"
	Entrypoint = "/bin/" + Command
	// User is neither root nor a user of a distribution.
	User = "65532:65532"
	// Authorities is where Go looks for them first on Linux.
	Authorities = "etc/ssl/certs/ca-certificates.crt"
	// Licenses is the folder that OpenShift's certification asks for too.
	Licenses = "licenses"
)

// Architectures are those of the image, all for Linux.
var Architectures = []string{"amd64", "arm64"}

// A Spec is what an image is made of.
type Spec struct {
	// Version is the daemon's, such as v0.1.0. Revision is the commit, "" if not known.
	Version, Revision string
	// Source is the address of the sources, "" while they have none.
	Source string
	// Created is the time of the commit: the only time in the image.
	Created time.Time
	// Authorities is the bundle of certificates in PEM.
	Authorities []byte
	// Licenses are the texts, by file name.
	Licenses map[string][]byte
	// Binaries are the static binaries by architecture.
	Binaries map[string][]byte
}

// Annotations returns the annotations of the index and of each image, which are the
// labels of the images too.
func (s *Spec) Annotations() map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":       Command,
		"org.opencontainers.image.description": "Kubernetes cloud controller manager that gives Nodes of several vCenters their regions and zones",
		"org.opencontainers.image.source":      s.Source,
		"org.opencontainers.image.revision":    s.Revision,
		"org.opencontainers.image.version":     s.Version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.created":     s.Created.UTC().Format(time.RFC3339),
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// common returns the files that all architectures share.
func (s *Spec) common() []archive.Entry {
	all := []archive.Entry{
		{Name: Authorities, Mode: 0o644, Content: s.Authorities},
		// Manifests of ours started it by this path. The link does not leave the image.
		{Name: Command, Link: Entrypoint[1:]},
	}
	for name, text := range s.Licenses {
		all = append(all, archive.Entry{Name: Licenses + "/" + name, Mode: 0o644, Content: text})
	}
	return all
}

// layer returns a layer with the entries.
func layer(at time.Time, entries ...archive.Entry) (v1.Layer, error) {
	var b bytes.Buffer
	if err := archive.TarGz(&b, at, entries...); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// Index returns the index with one image for each architecture.
func (s *Spec) Index() (v1.ImageIndex, error) {
	shared, err := layer(s.Created, s.common()...)
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(s.Binaries)) {
		image, err := s.image(arch, shared)
		if err != nil {
			return nil, fmt.Errorf("linux/%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return rewrite(mutate.Annotations(index, s.Annotations()).(v1.ImageIndex))
}

func (s *Spec) image(arch string, shared v1.Layer) (v1.Image, error) {
	binary, err := layer(s.Created, archive.Entry{Name: Entrypoint[1:], Mode: 0o755, Content: s.Binaries[arch]})
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	history := func(what string) v1.History {
		return v1.History{Created: v1.Time{Time: s.Created.UTC()}, CreatedBy: "make image", Comment: what}
	}
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: shared, History: history("certificates, licenses and a link")},
		mutate.Addendum{Layer: binary, History: history("the binary")})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Created = v1.Time{Time: s.Created.UTC()}
	config.Config = v1.Config{
		User:       User,
		Entrypoint: []string{Entrypoint},
		Env:        []string{"PATH=/bin"},
		WorkingDir: "/",
		Labels:     s.Annotations(),
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, s.Annotations()).(v1.Image), nil
}

// Write writes an archive with the index under a name such as repository:v1.37.0, and
// returns the index's digest, by which a manifest may name the image.
func Write(w io.Writer, index v1.ImageIndex, name Name, at time.Time) (digest v1.Hash, err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	if err := layOut(dir, index, name); err != nil {
		return v1.Hash{}, err
	}
	var entries []archive.Entry
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		entries = append(entries, archive.Entry{Name: filepath.ToSlash(inside), Mode: 0o644, Content: content})
		return err
	})
	if err != nil {
		return v1.Hash{}, err
	}
	if err := archive.Tar(w, at, entries...); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// layOut writes an image layout into a folder.
func layOut(dir string, index v1.ImageIndex, name Name) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		// The tag, for tools that follow the specification.
		"org.opencontainers.image.ref.name": name.Tag,
		// The whole name, for containerd, and with it K3s and RKE2.
		"io.containerd.image.name": name.Normalized(),
	}))
}
