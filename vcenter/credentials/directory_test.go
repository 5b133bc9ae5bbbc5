package credentials_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/vcenter/credentials"
)

func write(t *testing.T, dir string, kv ...string) {
	t.Helper()
	for i := 0; i < len(kv); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, kv[i]), []byte(kv[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// mount writes a directory like the kubelet's mount of a Secret.
func mount(t *testing.T, dir, version string, kv ...string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "..version"+version), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "..version"+version), kv...)
	if err := os.Symlink("..version"+version, filepath.Join(dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(kv); i += 2 {
		if err := os.Symlink(filepath.Join("..data", kv[i]), filepath.Join(dir, kv[i])); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
}

func TestFromDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "vc.username", "me\n", "vc.password", "made-up\n", ".vc.username", "hidden", "notes.txt", "hello",
		"server_0", "fd01::1", "username_0", "six", "password_0", "made-up-6",
		"sm.vc-session-manager-url", "https://sm.example.com/", "sm.vc-session-manager-token", "projected", "other.username", "half")
	for _, sub := range []string{"other.password", "..data-not"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for server, want := range map[string]credentials.Credentials{"vc": account("me", "made-up"), "fd01:0::1": account("six", "made-up-6"), "sm": manager("https://sm.example.com/", "projected")} {
		if got, err := credentials.FromDirectory(dir, server); err != nil || !got.Equal(want) {
			t.Errorf("FromDirectory for %s: %v, error %v, want %v", server, got, err, want)
		}
	}
	first, _ := credentials.FromDirectory(dir, "vc")
	if err := os.Chtimes(filepath.Join(dir, "vc.password"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if again, err := credentials.FromDirectory(dir, "vc"); err != nil || !again.Equal(first) || again.Revision == first.Revision {
		t.Errorf("written again: %v, revision %q, then %q", err, first.Revision, again.Revision)
	}
	_, err := credentials.FromDirectory(dir, "other")
	if want := `directory ` + dir + `: the key "other.password" is missing although "other.username" exists: add it with the password`; err == nil || err.Error() != want {
		t.Errorf("FromDirectory for a server whose password is a directory: error %v, want %s", err, want)
	}
	if _, err := credentials.FromDirectory(dir, "elsewhere"); !errors.Is(err, credentials.ErrNone) || !strings.Contains(err.Error(), dir) {
		t.Errorf("FromDirectory for a server without a file: error %v, want ErrNone with the directory %s", err, dir)
	}
}

func TestMountedSecret(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "1", "vc.username", "me", "vc.password", "made-up-1")
	if got, err := credentials.FromDirectory(dir, "vc"); err != nil || !got.Equal(account("me", "made-up-1")) {
		t.Errorf("FromDirectory of a mounted Secret: %v, error %v, want user me", got, err)
	}
	mount(t, dir, "2", "vc.username", "me", "vc.password", "made-up-2")
	if err := os.RemoveAll(filepath.Join(dir, "..version1")); err != nil {
		t.Fatal(err)
	}
	if got, err := credentials.FromDirectory(dir, "vc"); err != nil || !got.Equal(account("me", "made-up-2")) {
		t.Errorf("after the swap: %v, %v", got, err)
	}
	// A key that the volume no longer contains is ignored even if its link still exists.
	mount(t, dir, "3", "vc.username", "me")
	if got, err := credentials.FromDirectory(dir, "vc"); err == nil || !strings.Contains(err.Error(), `"vc.password" is missing`) {
		t.Errorf("with a key less: %v, %v", got, err)
	}
}

// TestTheVersionIsGone checks that files of two versions of a volume are never mixed.
func TestTheVersionIsGone(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "1", "vc.username", "me", "vc.password", "made-up-1")
	if err := os.RemoveAll(filepath.Join(dir, "..version1")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vc.username", "vc.password"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "vc.username", "me", "vc.password", "made-up-2")
	if got, err := credentials.FromDirectory(dir, "vc"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("FromDirectory after the Secret was removed from its volume: %v, error %v, want fs.ErrNotExist", got, err)
	}
}

func TestDirectoryErrors(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string) string
		is   error
		want string
	}{
		"not there":    {func(_ *testing.T, dir string) string { return filepath.Join(dir, "nowhere") }, fs.ErrNotExist, "nowhere"},
		"no directory": {func(t *testing.T, dir string) string { write(t, dir, "file", ""); return filepath.Join(dir, "file") }, nil, "file"},
		"too large": {func(t *testing.T, dir string) string {
			write(t, dir, "vc.username", strings.Repeat("x", config.MaxSize+1))
			return dir
		}, nil, "vc.username: is too large: it has 1048577 bytes, the limit is 1048576"},
		"a link to none": {func(t *testing.T, dir string) string { link(t, dir); return dir }, fs.ErrNotExist, "vc.password"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := credentials.FromDirectory(c.make(t, t.TempDir()), "vc")
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("FromDirectory: error %v, want one with %q that wraps %v", err, c.want, c.is)
			}
		})
	}
}

func link(t *testing.T, dir string) {
	t.Helper()
	if err := os.Symlink("nowhere", filepath.Join(dir, "vc.password")); err != nil {
		t.Fatal(err)
	}
}

func TestUnreadableFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "vc.username", "me", "vc.password", "made-up", "other.password", strings.Repeat("x", config.MaxSize+1))
	if got, err := credentials.FromDirectory(dir, "vc"); err != nil || !got.Equal(account("me", "made-up")) {
		t.Errorf("FromDirectory beside a file of another vCenter that is too large: %v, error %v, want user me", got, err)
	}
}
