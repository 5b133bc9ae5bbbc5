package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func touch(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, mode); err != nil {
		t.Fatal(err)
	}
}

// inModule goes to a folder deep in a module of that name, and returns the
// folder that Find looks into.
func inModule(t *testing.T, name string) string {
	t.Helper()
	root := t.TempDir()
	deep := filepath.Join(root, "test", "cluster")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module "+name+"\n\ngo 1.26.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	return filepath.Join(root, "bin", "controlplane")
}

func TestFindPrefersKubebuilderAssets(t *testing.T) {
	built, assets := inModule(t, "vzones"), t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	touch(t, filepath.Join(assets, Etcd), 0o755)
	touch(t, filepath.Join(assets, Scheduler), 0o644) // no program
	touch(t, filepath.Join(built, Etcd), 0o755)
	touch(t, filepath.Join(built, Scheduler), 0o755)

	found, err := Find(Etcd, Scheduler)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(assets, Etcd); found[Etcd] != want {
		t.Errorf("etcd is %s, want %s", found[Etcd], want)
	}
	if want := filepath.Join(built, Scheduler); found[Scheduler] != want {
		t.Errorf("kube-scheduler is %s, want %s", found[Scheduler], want)
	}
}

func TestFindNamesWhatIsMissing(t *testing.T) {
	built := inModule(t, "vzones")
	t.Setenv("KUBEBUILDER_ASSETS", "")
	touch(t, filepath.Join(built, Etcd), 0o755)
	_, err := Find()
	if !errors.Is(err, ErrNoBinaries) {
		t.Fatalf("error %v, want ErrNoBinaries", err)
	}
	for _, want := range []string{APIServer, built, "make controlplane"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if strings.Contains(err.Error(), Etcd+",") {
		t.Errorf("%q names etcd, which is there", err)
	}
}

func TestFindOutsideTheModule(t *testing.T) {
	inModule(t, "vzones/test/controlplane")
	t.Setenv("KUBEBUILDER_ASSETS", "")
	if _, err := Find(Etcd); !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), "no folder") {
		t.Errorf("error %v, want ErrNoBinaries and that no folder is known", err)
	}
}
