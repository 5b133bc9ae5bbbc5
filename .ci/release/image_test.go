package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
)

// arguments builds minimal programs and returns the arguments for an image with them.
func arguments(t *testing.T, out string) []string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() {}\n")
	write(t, filepath.Join(dir, "licenses", "LICENSE"), "ours")
	write(t, filepath.Join(dir, "licenses", "example.com", "a", "LICENSE"), "theirs")
	args := []string{
		"-version", "v1.37.0", "-image", "registry.example.com/ccm", "-commit", "6a9d8f", "-created", "1795341600",
		"-licenses", filepath.Join(dir, "licenses"), "-out", out,
	}
	for arch := range architectures {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s", "-o", arch, "main.go")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOWORK=off")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		args = append(args, arch+"="+filepath.Join(dir, arch))
	}
	return args
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// made creates an image and returns its archive and the printed line.
func made(t *testing.T) (archive, line string) {
	t.Helper()
	archive = filepath.Join(t.TempDir(), "image.oci.tar")
	var said bytes.Buffer
	if err := run(arguments(t, archive), &said); err != nil {
		t.Fatal(err)
	}
	return archive, strings.TrimSpace(said.String())
}

// unpack unpacks an archive like tar -xf.
func unpack(t *testing.T, r io.Reader) (folder string, headers map[string]*tar.Header) {
	t.Helper()
	folder, headers = t.TempDir(), map[string]*tar.Header{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return folder, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[path.Clean(h.Name)] = h
		to := filepath.Join(folder, filepath.FromSlash(h.Name))
		content, err := io.ReadAll(archive)
		switch h.Typeflag {
		case tar.TypeDir:
			err = errors.Join(err, os.MkdirAll(to, 0o755))
		default:
			err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, h.FileInfo().Mode()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// index returns the single index of an archive, which crane push requires.
func index(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	folder, _ := unpack(t, f)
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		t.Fatalf("%+v, %v: want one index", manifest, err)
	}
	names := manifest.Manifests[0].Annotations
	if got := names["org.opencontainers.image.ref.name"]; !strings.HasPrefix(got, "v1.") {
		t.Errorf("the tag is %q", got)
	}
	result, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// images returns the images by architecture.
func images(t *testing.T, all v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if m.Platform.OS != "linux" || m.ArtifactType != "" {
			t.Errorf("%+v is no image for Linux", m)
		}
		if found[m.Platform.Architecture], err = all.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestTwoBuilds: two builds in different folders and environments are identical.
func TestTwoBuilds(t *testing.T) {
	first, line := made(t)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TZ", "Asia/Tokyo")
	old := syscall.Umask(0o077)
	second, again := made(t)
	syscall.Umask(old)
	one, err := os.ReadFile(first)
	two, err2 := os.ReadFile(second)
	if err != nil || err2 != nil || !bytes.Equal(one, two) || line != again {
		t.Errorf("two builds differ: %d bytes, %s, and %d bytes, %s: %v, %v", len(one), line, len(two), again, err, err2)
	}
}

// TestImage: the image contains exactly the required content.
func TestImage(t *testing.T) {
	archive, line := made(t)
	all := index(t, archive)
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
	if digest, err := all.Digest(); err != nil || line != "registry.example.com/ccm:v1.37.0@"+digest.String() {
		t.Errorf("it printed %s, want %v: %v", line, digest, err)
	}
	raw, err := all.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	// Tools that copy images marshal the index like this.
	var parsed specs.Index
	if err := json.Unmarshal(raw, &parsed); err != nil {
		t.Fatal(err)
	}
	if written, err := json.Marshal(parsed); err != nil || !bytes.Equal(written, raw) {
		t.Errorf("read and written again, the index is another one: %v\n%s\n%s", err, raw, written)
	}
	found := images(t, all)
	if len(found) != len(architectures) {
		t.Errorf("images %v, want %v", found, architectures)
	}
	for arch, image := range found {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if config.Architecture != arch || c.User != user || !slices.Equal(c.Entrypoint, []string{entrypoint}) ||
			c.Labels["org.opencontainers.image.created"] != "2026-11-22T10:00:00Z" || c.Labels["org.opencontainers.image.revision"] != "6a9d8f" {
			t.Errorf("%s: %s, %+v", arch, config.Architecture, c)
		}
		if _, ok := c.Labels["org.opencontainers.image.source"]; ok {
			t.Error("sources that are nowhere have an address")
		}
		reader := mutate.Extract(image)
		folder, headers := unpack(t, reader)
		var paths []string
		for name, h := range headers {
			mode := fs.FileMode(h.Mode)
			if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != config.Created.Unix() ||
				mode&^0o755 != 0 || mode&0o444 != 0o444 {
				t.Errorf("%s: %+v", name, h)
			}
			if h.Typeflag != tar.TypeDir {
				paths = append(paths, name)
			}
		}
		slices.Sort(paths)
		want := []string{entrypoint[1:], authorities, "licenses/LICENSE", "licenses/example.com/a/LICENSE"}
		if !slices.Equal(paths, want) {
			t.Errorf("files %q, want %q", paths, want)
		}
		binary, err := os.ReadFile(filepath.Join(folder, entrypoint))
		if err != nil || static(binary, arch) != nil || headers[entrypoint[1:]].Mode != 0o755 {
			t.Errorf("%s: the binary: %v, %v", arch, err, static(binary, arch))
		}
		roots, err := os.ReadFile(filepath.Join(folder, authorities))
		if err != nil || !x509.NewCertPool().AppendCertsFromPEM(roots) || bytes.Count(roots, []byte("BEGIN CERTIFICATE")) < 50 {
			t.Errorf("%s: the certificates, of %d bytes: %v", arch, len(roots), err)
		}
	}
}

// TestOneArchitecture: the image of one architecture is the same alone and beside another.
func TestOneArchitecture(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "out")
	args := arguments(t, archive)
	last := len(args) - 1
	arch, _, _ := strings.Cut(args[last], "=")
	var digests []v1.Hash
	for _, a := range [][]string{args, append(slices.Clone(args[:last-1]), args[last])} {
		if err := run(a, io.Discard); err != nil {
			t.Fatal(err)
		}
		digest, err := images(t, index(t, archive))[arch].Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("the image for %s is %v alone and %v beside another", arch, digests[1], digests[0])
	}
}

// TestRefused: arguments that lack a required input or contain an invalid one are rejected.
func TestRefused(t *testing.T) {
	args := arguments(t, filepath.Join(t.TempDir(), "out"))
	for want, change := range map[string]func([]string) []string{
		"are required":       func(a []string) []string { return a[2:] },
		"bad magic number":   func(a []string) []string { return append(a, "arm64=image_test.go") },
		"no binary is given": func(a []string) []string { return a[:len(a)-2] },
		"no such file":       func(a []string) []string { return append(a, "arm64=nowhere") },
		`image "Upper/case"`: func(a []string) []string { return append([]string{"-image", "Upper/case"}, slices.Delete(a, 2, 4)...) },
		"our own LICENSE is miss": func(a []string) []string {
			return append([]string{"-licenses", t.TempDir()}, slices.Delete(a, 8, 10)...)
		},
		"the binary is for EM_": func(a []string) []string {
			_, file, _ := strings.Cut(a[len(a)-1], "=")
			return append(a[:len(a)-2], "amd64="+file, "arm64="+file)
		},
	} {
		if err := run(change(slices.Clone(args)), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestName: an imported image has the name that containerd expects.
func TestName(t *testing.T) {
	for repository, want := range map[string]string{
		"ccm":                      "docker.io/library/ccm:v1.37.0-dev-1a",
		"example/ccm":              "docker.io/example/ccm:v1.37.0-dev-1a",
		"docker.io/example/ccm":    "docker.io/example/ccm:v1.37.0-dev-1a",
		"registry.example.com/ccm": "registry.example.com/ccm:v1.37.0-dev-1a",
		"localhost:5000/infra/ccm": "localhost:5000/infra/ccm:v1.37.0-dev-1a",
		"[fd00::5]:5000/ccm":       "[fd00::5]:5000/ccm:v1.37.0-dev-1a",
	} {
		if tag, err := newName(repository, "v1.37.0-dev+1a"); err != nil || containerd(tag) != want {
			t.Errorf("%s is %s, want %s: %v", repository, containerd(tag), want, err)
		}
	}
}

// loopback starts a registry and returns its address.
func loopback(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestPushed: a registry reports the printed digest for the pushed image.
func TestPushed(t *testing.T) {
	archive, line := made(t)
	tag, err := name.NewTag(loopback(t) + "/ccm:v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index(t, archive)); err != nil {
		t.Fatal(err)
	}
	got, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := got.Digest(); err != nil || !strings.HasSuffix(line, "@"+digest.String()) {
		t.Errorf("the registry has %v, want %s: %v", digest, line, err)
	}
}

// TestDockerfile: the Dockerfile sets the same user, entry point and paths.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		"USER " + user,
		`ENTRYPOINT ["` + entrypoint + `"]`,
		"COPY --from=build /" + authorities + " /etc/ssl/certs/",
		"COPY --from=build /src/bin/" + command + " /bin/",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the Dockerfile does not have the line %q", want)
		}
	}
}

// TestStarts starts the daemon from make image in the image's root folder as the image's user.
func TestStarts(t *testing.T) {
	const archive = "../../bin/image/" + command + ".oci.tar"
	if _, err := os.Stat(archive); err != nil || runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("it takes an image of make image, and root on Linux")
	}
	image := images(t, index(t, archive))[runtime.GOARCH]
	if image == nil {
		t.Skip("there is no image for ", runtime.GOARCH)
	}
	root, _ := unpack(t, mutate.Extract(image))
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--version": config.Config.Labels["org.opencontainers.image.version"],
		"--cloud-provider=vsphere --cloud-config=/nowhere": "/nowhere",
	} {
		cmd := exec.CommandContext(t.Context(), entrypoint, strings.Fields(args)...)
		cmd.Dir, cmd.Env = "/", config.Config.Env
		cmd.WaitDelay = time.Minute
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		if said, _ := cmd.CombinedOutput(); !strings.Contains(string(said), want) {
			t.Errorf("%s: %s, want %q", args, said, want)
		}
	}
}

// TestChart: two packages of the chart are identical.
func TestChart(t *testing.T) {
	helm, err := filepath.Abs("../../bin/tools/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(helm); err != nil {
		t.Skip("make helm builds Helm: ", err)
	}
	var packages [][]byte
	for range 2 {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), helm, "package", "../../manifests/chart", "--version", "1.37.5", "--destination", dir)
		cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+dir, "HELM_CACHE_HOME="+dir, "HELM_DATA_HOME="+dir, "SOURCE_DATE_EPOCH=1795341600")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		content, err := os.ReadFile(filepath.Join(dir, "vzones-1.37.5.tgz"))
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, content)
	}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("two packages of the chart differ")
	}
}
