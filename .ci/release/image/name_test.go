package image

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestName(t *testing.T) {
	if n, err := NewName("registry.example.com/ccm", "v0.0.0-dev+1a2b"); err != nil || n.String() != "registry.example.com/ccm:v0.0.0-dev-1a2b" {
		t.Errorf("%v, %v", n, err)
	}
	for _, repository := range []string{"Upper/case", "with space", ""} {
		if n, err := NewName(repository, "v1.37.0"); err == nil {
			t.Errorf("%s is a name", n)
		}
	}
}

// TestNormalized: the archive has the name that containerd looks for.
func TestNormalized(t *testing.T) {
	index, err := spec(t).Index()
	if err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[string]string{
		"ccm":                                 "docker.io/library/ccm:v1.37.0",
		"example/ccm":                         "docker.io/example/ccm:v1.37.0",
		"docker.io/example/ccm":               "docker.io/example/ccm:v1.37.0",
		"index.docker.io/ccm":                 "docker.io/library/ccm:v1.37.0",
		"registry.example.com/ccm":            "registry.example.com/ccm:v1.37.0",
		"registry.example.com:5000/infra/ccm": "registry.example.com:5000/infra/ccm:v1.37.0",
		"localhost/ccm":                       "localhost/ccm:v1.37.0",
		"localhost:5000/ccm":                  "localhost:5000/ccm:v1.37.0",
		"[fd00::5]:5000/ccm":                  "[fd00::5]:5000/ccm:v1.37.0",
		"192.0.2.1/ccm":                       "192.0.2.1/ccm:v1.37.0",
	} {
		n, err := NewName(repository, "v1.37.0")
		if err != nil {
			t.Errorf("%s: %v", repository, err)
			continue
		}
		dir := t.TempDir()
		if err := layOut(dir, index, n); err != nil {
			t.Fatal(err)
		}
		top, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := top.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if got := manifest.Manifests[0].Annotations["io.containerd.image.name"]; got != want {
			t.Errorf("%s is %s in the archive, want %s", repository, got, want)
		}
	}
}

// TestPushed: what crane pushes out of the unpacked archive has the digest that is printed.
func TestPushed(t *testing.T) {
	written, digest := write(t, spec(t))
	dir := t.TempDir()
	if _, err := Read(bytes.NewReader(written), dir); err != nil {
		t.Fatal(err)
	}
	// The calls of crane push without --index, which pushes the only entry of a layout.
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(manifest.Manifests); n != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		t.Fatalf("crane refuses %d entries, the first a %s", n, manifest.Manifests[0].MediaType)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	tag, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/ccm:v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	got, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if pushed, err := got.Digest(); err != nil || pushed != digest {
		t.Errorf("the registry has %v, want %v: %v", pushed, digest, err)
	}
	if err := Check(got, Architectures...); err != nil {
		t.Errorf("what the registry has: %v", err)
	}
	text, err := os.ReadFile("../../../docs/how-to/build-an-image.md")
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.Contains(s, " push \\\n  layout ") || strings.Contains(s, "push --index") {
		t.Error("build-an-image.md pushes in another way")
	}
}
