package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The Dockerfile's image has the same command, entry point and user.
const (
	command    = "vsphere-cloud-controller-manager"
	entrypoint = "/bin/" + command
	// user is neither root nor a user of any distribution.
	user = "65532:65532"
	// authorities is the first path at which Go looks for CA certificates on Linux.
	authorities = "etc/ssl/certs/ca-certificates.crt"
)

// architectures are the ELF machine types of possible binaries.
var architectures = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// A spec is the complete input of an image.
type spec struct {
	version string
	// revision is the commit and source the URL of the sources, "" if unknown.
	revision, source string
	// created is the time of the commit, the only time in the image.
	created time.Time
	// licenses are the license texts by path.
	licenses map[string][]byte
	// binaries are the static binaries by architecture.
	binaries map[string][]byte
}

// annotations returns the annotations of the index and the images, which are also the images' labels.
func (s *spec) annotations() map[string]string {
	values := map[string]string{
		"title":       command,
		"description": "Kubernetes cloud controller manager that gives Nodes of several vCenters their regions and zones",
		"source":      s.source,
		"revision":    s.revision,
		"version":     s.version,
		"licenses":    "Apache-2.0",
		"created":     s.created.Format(time.RFC3339),
	}
	result := map[string]string{}
	for key, value := range values {
		if value != "" {
			result["org.opencontainers.image."+key] = value
		}
	}
	return result
}

// index returns an index with an image per architecture.
func (s *spec) index() (v1.ImageIndex, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	if len(s.licenses["LICENSE"]) == 0 {
		return nil, errors.New("the text of our own LICENSE is missing")
	}
	common := []entry{{name: authorities, mode: 0o644, content: roots}}
	for name, text := range s.licenses {
		common = append(common, entry{name: "licenses/" + name, mode: 0o644, content: text})
	}
	shared, err := layer(s.created, common...)
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	if len(s.binaries) == 0 {
		return nil, errors.New("no binary is given")
	}
	for _, arch := range slices.Sorted(maps.Keys(s.binaries)) {
		image, err := s.image(arch, shared)
		if err != nil {
			return nil, fmt.Errorf("linux/%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return rewrite(mutate.Annotations(index, s.annotations()).(v1.ImageIndex))
}

func (s *spec) image(arch string, shared v1.Layer) (v1.Image, error) {
	if err := static(s.binaries[arch], arch); err != nil {
		return nil, err
	}
	binary, err := layer(s.created, entry{name: entrypoint[1:], mode: 0o755, content: s.binaries[arch]})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	history := func(what string) v1.History {
		return v1.History{Created: v1.Time{Time: s.created}, CreatedBy: "make image", Comment: what}
	}
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: shared, History: history("certificates and licenses")},
		mutate.Addendum{Layer: binary, History: history("the binary")})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS = "linux"
	config.Architecture = arch
	config.Created = v1.Time{Time: s.created}
	config.Config = v1.Config{
		User: user, Entrypoint: []string{entrypoint}, Env: []string{"PATH=/bin"}, WorkingDir: "/", Labels: s.annotations(),
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, s.annotations()).(v1.Image), nil
}

// static returns an error unless a binary is statically linked for an architecture: the image has no libraries.
func static(binary []byte, arch string) error {
	program, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("the binary: %w", err)
	}
	if program.Machine != architectures[arch] {
		return fmt.Errorf("the binary is for %v", program.Machine)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("the binary is linked dynamically: build it with CGO_ENABLED=0")
	}
	return nil
}

// certificates returns the CAs that Mozilla trusts, from a module pinned by go.sum and independent of the host. CAs
// with constraints, such as a latest issue date, are omitted because PEM cannot express them.
func certificates() ([]byte, error) {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("an authority of x509roots: %w", err)
		}
		fmt.Fprintf(&b, "# %s\n", c.Subject.CommonName)
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// embedded is an alias, because an embedded field ImageIndex would hide the method of that name.
type embedded = v1.ImageIndex

// rewritten is an index marshaled with the specification's types.
type rewritten struct {
	embedded
	raw []byte
}

// rewrite marshals an index with the specification's own types, like skopeo before 1.13, so that a copy made by skopeo
// has the same digest.
func rewrite(index v1.ImageIndex) (v1.ImageIndex, error) {
	raw, err := index.RawManifest()
	if err != nil {
		return nil, err
	}
	var parsed specs.Index
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	for i := range parsed.Manifests {
		parsed.Manifests[i].ArtifactType = "" // images have none
	}
	raw, err = json.Marshal(parsed)
	return &rewritten{index, raw}, err
}

func (r *rewritten) RawManifest() ([]byte, error) { return r.raw, nil }
func (r *rewritten) Digest() (v1.Hash, error)     { return partial.Digest(r) }
func (r *rewritten) Size() (int64, error)         { return int64(len(r.raw)), nil }
func (r *rewritten) IndexManifest() (*v1.IndexManifest, error) {
	return v1.ParseIndexManifest(bytes.NewReader(r.raw))
}

// newName returns the name of a version's image in a repository. Tags must not contain "+", which versions between
// releases do: it becomes "-".
func newName(repository, version string) (name.Tag, error) {
	tag, err := name.NewTag(repository+":"+strings.ReplaceAll(version, "+", "-"), name.WeakValidation)
	if err != nil {
		return name.Tag{}, fmt.Errorf("image %q: %w", repository, err)
	}
	return tag, nil
}

// containerd returns the name of an imported image in containerd and the kubelet: with a registry, and with
// docker.io/library/ if the name has none.
func containerd(tag name.Tag) string {
	return strings.Replace(tag.Name(), name.DefaultRegistry+"/", "docker.io/", 1)
}

// pack returns a tar archive of an image layout with the named index.
func pack(index v1.ImageIndex, tag name.Tag, modTime time.Time) ([]byte, error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	folder, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	err = folder.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
		"io.containerd.image.name":          containerd(tag),
	}))
	if err != nil {
		return nil, err
	}
	content, err := files(dir)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for name, text := range content {
		entries = append(entries, entry{name: name, mode: 0o644, content: text})
	}
	var b bytes.Buffer
	err = writeTar(&b, modTime, entries...)
	return b.Bytes(), err
}

// An entry is a file in an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// layer returns a compressed layer with the entries.
func layer(modTime time.Time, entries ...entry) (v1.Layer, error) {
	var b bytes.Buffer
	// The gzip header has neither a name nor a time.
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writeTar(z, modTime, entries...), z.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// writeTar writes the entries and their folders sorted by name, all owned by root and with the same time, so that the
// archive is reproducible.
func writeTar(w io.Writer, modTime time.Time, entries ...entry) error {
	headers := map[string]tar.Header{}
	content := map[string][]byte{}
	for _, e := range entries {
		for d := path.Dir(e.name); d != "."; d = path.Dir(d) {
			headers[d+"/"] = tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}
		}
		headers[e.name] = tar.Header{Typeflag: tar.TypeReg, Mode: e.mode, Size: int64(len(e.content))}
		content[e.name] = e.content
	}
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		h := headers[name]
		// The PAX and GNU formats contain further times and IDs.
		h.Name = name
		h.ModTime = modTime
		h.Format = tar.FormatUSTAR
		if err := t.WriteHeader(&h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := t.Write(content[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return t.Close()
}
