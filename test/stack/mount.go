package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Mount is a folder with the kubelet's layout for a ConfigMap or Secret: each file is a link into ..data, which is a
// link to the folder with the content and is replaced atomically.
type Mount struct{ dir string }

// NewMount creates an empty Mount.
func NewMount(dir string) (*Mount, error) {
	m := &Mount{dir: dir}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return m, m.Swap(nil)
}

// Path returns the path of a file.
func (m *Mount) Path(name string) string { return filepath.Join(m.dir, name) }

// Swap replaces all files at once. It also replaces other kinds of files at their paths, such as an editor's.
func (m *Mount) Swap(files map[string][]byte) error {
	// The kubelet names the folder after the time. The name must be unique.
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
	old, _ := os.Readlink(data) // fails for a new Mount
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

// link atomically creates a symbolic link or replaces a file with it.
func link(target, path, temporary string) error {
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// Ways to write a file other than the kubelet's.
const (
	// InPlace truncates and writes the file, as a shell does.
	InPlace = "in-place"
	// Renamed renames a new file to its name, as many editors do.
	Renamed = "renamed"
)

// Write writes a single file in one of these ways.
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
	return fmt.Errorf("unknown way to write a file: %q", how)
}
