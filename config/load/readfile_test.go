//go:build unix

package load

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
)

// TestReadOddFiles checks that irregular and large files are rejected without blocking.
func TestReadOddFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"huge", "small", "large"} {
		if err := os.WriteFile(path(name), []byte("vcenter:\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path("huge"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path("large"), 4<<20+1); err != nil { // more than a CA file may have
		t.Fatal(err)
	}
	// Kubernetes mounts a ConfigMap like this.
	for link, to := range map[string]string{"..data": ".", "linked": "..data/small", "to-pipe": "pipe", "to-zero": "/dev/zero", "circle": "circle"} {
		if err := os.Symlink(to, path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, says := range map[string]string{
		"pipe": "a named pipe", "to-pipe": "a named pipe", "to-zero": "a device", "..data": "a directory",
		"huge": "is too large: it has 1099511627776 bytes", "missing": "no such file", "circle": "too many levels of symbolic links",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := Options{}.Read(path(name))
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path(name)) {
				t.Errorf("reading the file %s: got error %v, want one with the path and %q", name, err, says)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is read forever", name)
		}
	}
	for _, name := range []string{"small", "linked"} {
		if data, err := config.ReadFile(path(name)); err != nil || string(data) != "vcenter:\n" {
			t.Errorf("reading the file %s: got %q and error %v, want %q", name, data, err, "vcenter:\n")
		}
	}
	if _, err := (Options{}).Read(path("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if cfg, err := (Options{}).Read(configtest.Path(t, "good", "no-labels.yaml")); err != nil || cfg.VCenters[0].Password.Reveal() != "password" {
		t.Errorf("reading a valid file: got %+v, %v, want the password of its vCenter", cfg, err)
	}
	if data, err := config.ReadFile("/proc/self/stat"); err == nil && len(data) == 0 {
		t.Error("a file of no size is taken for empty")
	}
	for _, name := range []string{"pipe", "huge", "large", "to-zero"} {
		_, err := Parse("f", []byte("global: {user: u, password: p, caFile: "+path(name)+"}\nvcenter: {10.0.0.1: }\n"))
		if err == nil || !strings.Contains(err.Error(), `f:1: global.caFile: "`+path(name)+`": is not a certificate file`) {
			t.Errorf("CA file %s: %v", name, err)
		}
	}
}
