package stack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vzones/test/fleet"
)

// Config returns the configuration of the fleet as it is now, with credentials
// from TheSecret and each vCenter's certificate verified with its CAFile.
func (s *Stack) Config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "global:\n  secretName: %s\n  secretNamespace: %s\nvcenter:\n", secretName, namespace)
	for _, v := range s.Fleet.VCenters() {
		fmt.Fprintf(&b, "  %s:\n    server: %s\n    port: %d\n    caFile: %s\n", v.Name(), v.Host(), v.Port(), s.CAFile(v))
	}
	return b.Bytes()
}

// CAFile returns the path of the file that WriteCA writes. Its folder has nothing
// else: a watch of the file gets all events there.
func (s *Stack) CAFile(v *fleet.VCenter) string { return filepath.Join(s.Dir, "ca", v.Name()+".pem") }

// WriteCA writes the authority of a vCenter's certificate as it is now. The file
// is never seen half-written.
func (s *Stack) WriteCA(v *fleet.VCenter) error {
	if err := os.MkdirAll(filepath.Join(s.Dir, "ca"), 0o700); err != nil {
		return err
	}
	temporary := s.CAFile(v) + ".new"
	if err := os.WriteFile(temporary, v.Certificate(), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, s.CAFile(v))
}

// WriteConfig writes Config, what is in more behind it, and the files with the
// authorities, and returns its path.
func (s *Stack) WriteConfig(more string) (string, error) {
	for _, v := range s.Fleet.VCenters() {
		if err := s.WriteCA(v); err != nil {
			return "", err
		}
	}
	path := filepath.Join(s.Dir, "vsphere.conf")
	return path, os.WriteFile(path, append(s.Config(), strings.TrimPrefix(more, "\n")...), 0o600)
}
