package credentials

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vzones/config"
)

// FromDirectory is Find for a directory with one file for each key, such as a mounted Secret. If dir
// does not exist, the error wraps fs.ErrNotExist.
func FromDirectory(dir, server string) (Credentials, error) {
	for tries := 3; ; tries-- {
		versionDir := currentVersion(dir)
		data, revision, err := readFiles(versionDir, server)
		if tries > 1 && currentVersion(dir) != versionDir {
			// The kubelet replaced the volume and is removing the previous files.
			continue
		}
		var c Credentials
		if err == nil {
			c, err = Find(data, server)
		}
		if err != nil {
			return Credentials{}, fmt.Errorf("directory %s: %w", dir, err)
		}
		c.Revision = revision
		return c, nil
	}
}

// currentVersion returns the target of the link ..data, which the kubelet changes atomically, so that
// old and new files are never mixed.
func currentVersion(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, "..data"))
	switch {
	case err != nil:
		return dir
	case filepath.IsAbs(target):
		return target
	}
	return filepath.Join(dir, target)
}

func readFiles(dir, server string) (data map[string][]byte, revision string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	data = map[string][]byte{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !mayConcern(name, server) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return nil, "", err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if data[name], err = config.ReadFile(path); err != nil {
			return nil, "", err
		}
		revision += info.ModTime().String()
	}
	return data, revision, nil
}

func mayConcern(key, server string) bool {
	if prefix, ok := addressOf(key); ok && SameAddress(prefix, server) {
		return true
	}
	for _, prefix := range []string{prefixServer, prefixUser, prefixPassword} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
