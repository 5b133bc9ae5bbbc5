package stack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vzones/test/fleet"
)

// Config returns the configuration of the current fleet. The credentials are in TheSecret, and certificates are
// verified with CAFile.
func (s *Stack) Config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "global:\n  secretName: %s\n  secretNamespace: %s\nvcenter:\n", secretName, namespace)
	for _, v := range s.Fleet.VCenters() {
		fmt.Fprintf(&b, "  %s:\n    server: %s\n    port: %d\n    caFile: %s\n", v.Name(), v.Host(), v.Port(), s.CAFile(v))
	}
	return b.Bytes()
}

// CAFile returns the path of the file written by WriteCA. It is alone in its folder, because a watch of the file
// receives all events of the folder.
func (s *Stack) CAFile(v *fleet.VCenter) string { return filepath.Join(s.Dir, "ca", v.Name()+".pem") }

// WriteCA atomically writes the vCenter's current certificate to CAFile.
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

// WriteConfig writes Config followed by more, and the CA files. It returns the path of the configuration.
func (s *Stack) WriteConfig(extra string) (string, error) {
	for _, v := range s.Fleet.VCenters() {
		if err := s.WriteCA(v); err != nil {
			return "", err
		}
	}
	path := filepath.Join(s.Dir, "vsphere.conf")
	return path, os.WriteFile(path, append(s.Config(), strings.TrimPrefix(extra, "\n")...), 0o600)
}
