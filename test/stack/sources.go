package stack

import (
	"io/fs"
	"path/filepath"
)

// DependOnSources makes the result of the calling test depend on the sources of
// the daemon in a module. go test takes a result from its cache as long as
// nothing has changed that the test was built from or has opened; what go build
// reads on the test's behalf is neither.
func DependOnSources(module string) error {
	for _, dir := range []string{"cmd", "config", "manifests", "provider", "topology", "vcenter"} {
		// Walking opens each folder, which stands for the files in it.
		err := filepath.WalkDir(filepath.Join(module, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
}
