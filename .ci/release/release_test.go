package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"vzones/ci/release/archive"
	"vzones/ci/release/image"
)

// TestTwoFolders makes a release of what is checked out in two folders, the second with an
// empty build cache and settings that would change it, and wants the same files. It runs
// with make check-release, which names the version in VZONES_RELEASE.
func TestTwoFolders(t *testing.T) {
	version := os.Getenv("VZONES_RELEASE")
	if version == "" {
		t.Skip("make check-release runs it: it builds everything twice")
	}
	if !versions.MatchString(version) {
		t.Fatalf("VERSION=%s is not of the form v1.2.3", version)
	}
	out, sums := releaseIn(t, "one", version)
	t.Run("on another machine", func(t *testing.T) {
		t.Setenv("GOCACHE", t.TempDir())
		hostile(t)
		if _, again := releaseIn(t, "another/folder", version); again != sums {
			t.Errorf("two releases differ:\n%s\n%s", sums, again)
		}
	})
	checkSums(t, out)
	checkTool(t, out, version)
	checkHelm(t, out, version)
	t.Run("starts in its image", func(t *testing.T) { startInImage(t, out, version) })
}

// releaseIn makes a release in a clone, and returns its folder and its sums.
func releaseIn(t *testing.T, folder, version string) (out, sums string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	git(t, ".", "clone", "--quiet", "../..", dir)
	out = filepath.Join(dir, "dist", version)
	var said bytes.Buffer
	args := []string{"-source", dir, "-version", version, "-out", out, "-snapshot", "dist"}
	if err := run(t.Context(), args, &said); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	t.Logf("%s", &said)
	text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return out, string(text)
}

// checkSums compares the files with SHA256SUMS, which has all of them but itself.
func checkSums(t *testing.T, out string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(entries)-1 {
		t.Errorf("%d sums of %d files", len(lines), len(entries))
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		content, err := os.ReadFile(filepath.Join(out, name))
		if got := (artifact{name, content}).file().SHA256; err != nil || got != sum {
			t.Errorf("%s: %s, want %s: %v", name, got, sum, err)
		}
	}
}

// checkTool runs the tool out of its archive.
func checkTool(t *testing.T, out, version string) {
	t.Helper()
	name := strings.Join([]string{tool, version, runtime.GOOS, runtime.GOARCH}, "_")
	dir := t.TempDir()
	unpack(t, filepath.Join(out, name+".tar.gz"), dir)
	said, err := exec.CommandContext(t.Context(), filepath.Join(dir, name, tool), "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(said), version) {
		t.Errorf("%s --version: %s, %v", tool, said, err)
	}
	for _, file := range []string{"LICENSE", "THIRD-PARTY.txt"} {
		if info, err := os.Stat(filepath.Join(dir, name, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// unpack writes what a compressed archive has into a folder.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		place(t, dir, archive.Entry{Name: h.Name, Mode: h.FileInfo().Mode(), Content: content, Link: h.Linkname})
	}
}

// place writes an entry into a folder.
func place(t *testing.T, dir string, e archive.Entry) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(e.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	switch {
	case e.Mode.IsDir():
		err = os.MkdirAll(path, e.Mode.Perm())
	case e.Link != "":
		err = os.Symlink(e.Link, path)
	default:
		err = os.WriteFile(path, e.Content, e.Mode.Perm())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkHelm reads the chart package with Helm, and renders it as an operator would.
func checkHelm(t *testing.T, out, version string) {
	t.Helper()
	path, err := filepath.Abs("../../bin/tools/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the chart package is not rendered: make helm builds Helm: %v", err)
		return
	}
	chart := filepath.Join(out, "vzones-"+version[1:]+".tgz")
	home := t.TempDir()
	helm := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), path, args...)
		// Whatever configuration of Helm the machine has does not count.
		cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("helm %q: %v\n%s", args, err, said)
		}
		return string(said)
	}
	expect := func(said string, lines ...string) {
		for _, line := range lines {
			if !strings.Contains(said, line+"\n") {
				t.Errorf("the chart package does not have %q:\n%s", line, said)
			}
		}
	}
	expect(helm("show", "chart", chart), "version: "+version[1:], "appVersion: "+version)
	rendered := helm("template", "vzones", chart, "--namespace", "kube-system", "--values", "../../manifests/chart/examples/kubeadm.yaml")
	expect(rendered, "kind: DaemonSet", "kind: ConfigMap")
	if !strings.Contains(rendered, image.Command+":"+version) {
		t.Errorf("what the chart package renders does not have the image of %s:\n%s", version, rendered)
	}
}

// startInImage starts the daemon as the image does: in its root, which it may not write
// to, as its user. Without a configuration it ends with a message about that.
func startInImage(t *testing.T, out, version string) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: only root may change the root folder of a process, on Linux")
	}
	f, err := os.Open(filepath.Join(out, image.Command+"_"+version+"_image.oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	index, err := image.Read(f, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range filesFor(t, index, runtime.GOARCH) {
		place(t, root, archive.Entry{Name: name, Mode: file.FileInfo().Mode(), Content: file.Content, Link: file.Linkname})
	}
	for args, want := range map[string]string{
		"--version": version,
		"--cloud-provider=vsphere --cloud-config=/nowhere": "/nowhere",
	} {
		said := inRoot(t, root, strings.Fields(args)...)
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %q", args, said, want)
		}
	}
	count := 0
	err = filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			count++
		}
		return err
	})
	if err != nil || count != 5 {
		t.Errorf("there are %d files, want the 5 of the image: %v", count, err)
	}
}

// filesFor returns what the image of an architecture consists of.
func filesFor(t *testing.T, index v1.ImageIndex, arch string) map[string]image.File {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture != arch {
			continue
		}
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		files, err := image.Files(img)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	t.Skipf("NOT CHECKED: there is no image for %s", arch)
	return nil
}

// inRoot runs the daemon in a root folder, as the image's user, and returns what it says.
func inRoot(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), image.Entrypoint, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	said, err := cmd.CombinedOutput()
	t.Logf("%q: %v", args, err)
	return string(said)
}
