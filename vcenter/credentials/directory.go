package credentials

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vzones/config"
)

// FromDirectory is Find with the files of a directory, such as a Secret that is
// mounted as a volume: a file's name is the key, its content the value. Hidden
// files, subdirectories and what is not a file are left out, and files that are not
// for this vCenter are not read. A directory that is not there is an error
// that is fs.ErrNotExist.
func FromDirectory(dir, server string) (Credentials, error) {
	for tries := 3; ; tries-- {
		now := current(dir)
		data, revision, err := readFiles(now, server)
		if tries > 1 && current(dir) != now {
			// The kubelet has replaced the directory, and removes the files of the previous one.
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

// current returns the directory to read. A volume is replaced as a whole by
// pointing the link ..data elsewhere: what it points to is read, be it gone by now, not some of the
// old and some of the new.
func current(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, "..data"))
	switch {
	case err != nil:
		return dir
	case filepath.IsAbs(target):
		return target
	}
	return filepath.Join(dir, target)
}

// readFiles returns the files that can matter for an address, and when they were written.
func readFiles(dir, server string) (data map[string][]byte, revision string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	data = map[string][]byte{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !concerns(name, server) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path) // follows links
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

// concerns reports whether a key can matter for an address.
func concerns(key, server string) bool {
	if prefix, ok := address(key); ok && Same(prefix, server) {
		return true
	}
	for _, prefix := range []string{prefixServer, prefixUser, prefixPassword} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
