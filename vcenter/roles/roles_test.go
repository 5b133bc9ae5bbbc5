package roles_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyTheToolMakesRoles: nothing that the daemon is made of can write to a vCenter.
func TestOnlyTheToolMakesRoles(t *testing.T) {
	const allowed = "../../cmd/vzones/role"
	imported := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != "../..":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if i.Path.Value != `"vzones/vcenter/roles"` {
				continue
			}
			if imported++; filepath.Dir(path) != allowed {
				t.Errorf("%s imports it", path)
			}
		}
		return nil
	})
	if err != nil || imported == 0 {
		t.Errorf("%v, imported %d times", err, imported)
	}
}
