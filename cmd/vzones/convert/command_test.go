package convert

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileThatCannotBeWrittenIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.yaml")
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(f, []byte("S3cret")); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "S3cret") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
