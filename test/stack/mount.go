package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Mount is a folder laid out as kubelet lays out that of a ConfigMap or a
// Secret: each file is a link into ..data, which is a link to the folder with
// the content and is replaced as a whole.
type Mount struct{ dir string }

// NewMount makes a folder without files.
func NewMount(dir string) (*Mount, error) {
	m := &Mount{dir: dir}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return m, m.Swap(nil)
}

// Path returns that of a file.
func (m *Mount) Path(name string) string { return filepath.Join(m.dir, name) }

// Swap replaces all files at once. What it is in the place of one, such as an
// editor's file, makes room.
func (m *Mount) Swap(files map[string][]byte) error {
	// The name says when, and has to be another one each time.
	content, err := os.MkdirTemp(m.dir, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(content, name), data, 0o600); err != nil {
			return err
		}
	}
	data := m.Path("..data")
	old, _ := os.Readlink(data) // none at first
	if err := link(filepath.Base(content), data, m.Path("..data_tmp")); err != nil {
		return err
	}
	for name := range files {
		if to, _ := os.Readlink(m.Path(name)); to != filepath.Join("..data", name) {
			if err := link(filepath.Join("..data", name), m.Path(name), m.Path("..link_tmp")); err != nil {
				return err
			}
		}
	}
	if err := m.prune(files); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(m.Path(old))
}

// prune removes the links to files that there are no longer.
func (m *Mount) prune(files map[string][]byte) error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, stays := files[e.Name()]; stays || e.Name()[:min(2, len(e.Name()))] == ".." {
			continue
		}
		if err := os.Remove(m.Path(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// link makes a symbolic link in one step, also in the place of another file.
func link(to, at, temporary string) error {
	if err := os.Symlink(to, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, at)
}

// The ways in which a file is written other than by kubelet.
const (
	// InPlace: the file is emptied and filled, as a shell does.
	InPlace = "in-place"
	// Renamed: another file takes its name, as many editors do.
	Renamed = "renamed"
)

// Write writes one file in one of these ways.
func (m *Mount) Write(name string, data []byte, how string) error {
	switch how {
	case InPlace:
		return os.WriteFile(m.Path(name), data, 0o600)
	case Renamed:
		temporary := m.Path(name + ".swp")
		if err := os.WriteFile(temporary, data, 0o600); err != nil {
			return err
		}
		return os.Rename(temporary, m.Path(name))
	}
	return fmt.Errorf("a file is not written %q", how)
}
