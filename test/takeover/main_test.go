package takeover

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"vzones/test/cluster"
	"vzones/test/stack"
)

const (
	// incumbentVariable names the path of a vSphere CPI other than the one built by make incumbent.
	incumbentVariable = "VZONES_INCUMBENT"
	// program is the file name of both programs.
	program = "vsphere-cloud-controller-manager"
)

// built is the path of the vSphere CPI built by make incumbent.
var built = filepath.Join("..", "..", "bin", "incumbent", program)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "3"); err != nil { // tests mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// programs returns the paths of the vSphere CPI and of the daemon. It skips the test without the CPI or a control plane.
func programs(t *testing.T) (old, ours string) {
	t.Helper()
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	return programsOf(t)
}

// programsOf is programs for a test that runs with -short, too.
func programsOf(t *testing.T) (old, ours string) {
	t.Helper()
	if _, err := cluster.Find(); err != nil {
		t.Skip(err)
	}
	old, err := incumbent()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if ours, err = stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return old, ours
}

// incumbent returns the path of the vSphere CPI. A CPI built by make incumbent must have the version in
// test/incumbent/go.mod.
func incumbent() (string, error) {
	if binary := os.Getenv(incumbentVariable); binary != "" {
		return binary, nil
	}
	const build = "run make incumbent"
	info, err := buildinfo.ReadFile(built)
	if err != nil {
		return "", fmt.Errorf("no vSphere CPI: %w; %s", err, build)
	}
	mod, err := os.ReadFile(filepath.Join("..", "incumbent", "go.mod"))
	if err != nil {
		return "", err
	}
	if !bytes.Contains(mod, []byte("\t"+info.Main.Path+" "+info.Main.Version+" // indirect\n")) {
		return "", fmt.Errorf("%s is %s %s, which is not the version in test/incumbent/go.mod; %s", built, info.Main.Path, info.Main.Version, build)
	}
	return filepath.Abs(built)
}
