package cluster

import (
	"os"
	"strings"
	"testing"
)

// TestAnotherVersionIsRefused: a test that is to show something about one version of
// Kubernetes never runs with another.
func TestAnotherVersionIsRefused(t *testing.T) {
	need(t)
	leakFree(t)
	t.Setenv(versionVariable, "v1.0.0")
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "the API server is of Kubernetes v1.") || !strings.Contains(err.Error(), "VZONES_KUBERNETES demands v1.0.0") {
		t.Fatalf("error %v, want one that names both versions", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v (%v)", entries, err)
	}
}
