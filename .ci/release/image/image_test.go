package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	specs "github.com/opencontainers/image-spec/specs-go/v1"

	"vzones/ci/release/archive"
	"vzones/ci/release/roots"
)

// programs builds the smallest program there is for each architecture, once.
var programs = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, arch := range Architectures {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", arch, source)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, &exec.Error{Name: string(out), Err: err}
		}
		if all[arch], err = os.ReadFile(filepath.Join(dir, arch)); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func spec(t *testing.T) *Spec {
	t.Helper()
	binaries, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	authorities, _, err := roots.PEM()
	if err != nil {
		t.Fatal(err)
	}
	return &Spec{
		Version: "v1.37.0", Revision: "6a9d8f", Created: time.Date(2026, 11, 22, 10, 0, 0, 0, time.FixedZone("east", 3600)),
		Authorities: authorities,
		Licenses:    map[string][]byte{"LICENSE": []byte("ours"), "THIRD-PARTY.txt": []byte("theirs")},
		Binaries:    map[string][]byte{"arm64": binaries["arm64"], "amd64": binaries["amd64"]},
	}
}

func write(t *testing.T, s *Spec) ([]byte, v1.Hash) {
	t.Helper()
	index, err := s.Index()
	if err != nil {
		t.Fatal(err)
	}
	name, err := NewName("registry.example.com/ccm", s.Version)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	digest, err := Write(&b, index, name, s.Created)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), digest
}

// checkWritten writes an index, reads it back and checks it.
func checkWritten(t *testing.T, index v1.ImageIndex) error {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(&b, index, Name{"ccm", "v1.37.0"}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	read, err := Read(&b, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Check(read, Architectures...)
}

// TestSameAndReadBack: two archives of one spec are equal, and what is read back from one
// is the image that was written.
func TestSameAndReadBack(t *testing.T) {
	first, digest := write(t, spec(t))
	t.Setenv("TMPDIR", t.TempDir())
	elsewhere := spec(t)
	elsewhere.Created = elsewhere.Created.UTC()
	second, again := write(t, elsewhere)
	if digest != again || sha256.Sum256(first) != sha256.Sum256(second) {
		t.Errorf("two archives differ: %v, %v", digest, again)
	}
	index, err := Read(bytes.NewReader(first), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(index, Architectures...); err != nil {
		t.Error(err)
	}
	if read, err := index.Digest(); err != nil || read != digest {
		t.Errorf("read back, it is %v, want %v: %v", read, digest, err)
	}
	raw, err := index.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	// As tools do that copy images.
	var parsed specs.Index
	if err := json.Unmarshal(raw, &parsed); err != nil {
		t.Fatal(err)
	}
	if written, err := json.Marshal(parsed); err != nil || !bytes.Equal(written, raw) {
		t.Errorf("read and written again, the index is another one: %v\n%s\n%s", err, raw, written)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.ArtifactType != "" {
			t.Errorf("%v has the artifact type %s", m.Platform, m.ArtifactType)
		}
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		files, err := Files(image)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(files[Entrypoint[1:]].Content, spec(t).Binaries[m.Platform.Architecture]) {
			t.Errorf("%v: the binary is another one", m.Platform)
		}
	}
	if got := manifest.Annotations["org.opencontainers.image.created"]; got != "2026-11-22T09:00:00Z" {
		t.Errorf("created %s", got)
	}
	if _, ok := manifest.Annotations["org.opencontainers.image.source"]; ok {
		t.Error("sources that are nowhere have an address")
	}
}

// TestSpecsThatAreRefused: each breaks one rule.
func TestSpecsThatAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"has no certificate":   func(s *Spec) { s.Authorities = []byte("none") },
		"LICENSE is missing":   func(s *Spec) { delete(s.Licenses, "LICENSE") },
		"image.version":        func(s *Spec) { s.Version = "" },
		"it is for EM_AARCH64": func(s *Spec) { s.Binaries["amd64"] = s.Binaries["arm64"] },
		"bad magic number":     func(s *Spec) { s.Binaries["arm64"] = []byte("a script of some length") },
		`want ["amd64"`:        func(s *Spec) { delete(s.Binaries, "arm64") },
	} {
		s := spec(t)
		change(s)
		index, err := s.Index()
		if err != nil {
			t.Fatal(err)
		}
		if err := checkWritten(t, index); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestImagesThatAreRefused: the rules that no spec can break hold for what is read.
func TestImagesThatAreRefused(t *testing.T) {
	config := func(change func(*v1.ConfigFile)) func(*testing.T, v1.Image) v1.Image {
		return func(t *testing.T, image v1.Image) v1.Image {
			c, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			c = c.DeepCopy()
			change(c)
			if image, err = mutate.ConfigFile(image, c); err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	file := func(h tar.Header) func(*testing.T, v1.Image) v1.Image {
		return func(t *testing.T, image v1.Image) v1.Image {
			image, err := mutate.AppendLayers(image, raw(t, h))
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	index, err := spec(t).Index()
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*testing.T, v1.Image) v1.Image{
		`it runs as "root"`:     config(func(c *v1.ConfigFile) { c.Config.User = "root" }),
		`it starts ["/bin/sh"]`: config(func(c *v1.ConfigFile) { c.Config.Entrypoint = []string{"/bin/sh"} }),
		"it has volumes":        config(func(c *v1.ConfigFile) { c.Config.Volumes = map[string]struct{}{"/data": {}} }),
		"mismatched Arch":       config(func(c *v1.ConfigFile) { c.Architecture = "arm64" }),
		"labels map":            config(func(c *v1.ConfigFile) { c.Config.Labels["x"] = "y" }),
		"belongs to 1000:0":     file(tar.Header{Name: "x", Mode: 0o644, Uid: 1000}),
		"the mode 0666":         file(tar.Header{Name: "x", Mode: 0o666}),
		"the mode 04755":        file(tar.Header{Name: "x", Mode: 0o4755}),
		"the mode 0600":         file(tar.Header{Name: "x", Mode: 0o600}),
		"x leads to /etc":       file(tar.Header{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc", Mode: 0o777}),
		"neither a file":        file(tar.Header{Name: "x", Typeflag: tar.TypeFifo, Mode: 0o644}),
		"is not a link to":      file(tar.Header{Name: Command, Mode: 0o755}),
		"it has the mode 0644":  file(tar.Header{Name: Entrypoint[1:], Mode: 0o644}),
	} {
		if err := checkWritten(t, changed(t, index, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// raw returns a layer with one entry as it stands.
func raw(t *testing.T, h tar.Header) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// changed returns an index with a change in its first image.
func changed(t *testing.T, index v1.ImageIndex, change func(*testing.T, v1.Image) v1.Image) v1.ImageIndex {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	result := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			image = change(t, image)
		}
		result = mutate.AppendManifests(result, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: m.Platform}})
	}
	return mutate.Annotations(result, manifest.Annotations).(v1.ImageIndex)
}

// TestReadRefuses: an archive is no way out of the folder that it is read into.
func TestReadRefuses(t *testing.T) {
	for want, h := range map[string]tar.Header{
		"escapes":            {Name: "../x", Typeflag: tar.TypeReg, Mode: 0o644},
		"neither a file nor": {Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/"},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b, t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	var b bytes.Buffer
	if err := archive.Tar(&b, time.Unix(0, 0), archive.Entry{Name: "index.json", Mode: 0o644, Content: []byte(`{"manifests":[]}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b, t.TempDir()); err == nil {
		t.Error("an archive without an image is one")
	}
}

// TestAsTheDockerfile: whoever builds with Docker gets the same user and entry point, and
// the certificates at the same place.
func TestAsTheDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		"USER " + User,
		`ENTRYPOINT ["` + Entrypoint + `"]`,
		"COPY --from=build /" + Authorities + " /etc/ssl/certs/",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the Dockerfile does not have the line %q", want)
		}
	}
}
