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
	// incumbentVariable names the vSphere CPI, instead of the one that make incumbent
	// builds.
	incumbentVariable = "VZONES_INCUMBENT"
	// program is what both are called.
	program = "vsphere-cloud-controller-manager"
)

// built is where make incumbent puts the vSphere CPI.
var built = filepath.Join("..", "..", "bin", "incumbent", program)

// missing says why nothing can be taken over.
var missing error

func TestMain(m *testing.M) {
	err := cluster.Wanted()
	if err == nil {
		if _, err = incumbent(); !errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		missing = err
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, the takeover: %v\n", err)
	}
	if err := flag.Set("test.parallel", "3"); err != nil { // they mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// daemon returns the path of the daemon.
func daemon(t *testing.T) string {
	t.Helper()
	binary, err := stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// incumbent returns the path of the vSphere CPI: of the version that test/incumbent/go.mod
// has, if make incumbent has built it.
func incumbent() (string, error) {
	if binary := os.Getenv(incumbentVariable); binary != "" {
		return binary, nil
	}
	const build = "make incumbent builds it"
	info, err := buildinfo.ReadFile(built)
	if err != nil {
		return "", fmt.Errorf("no vSphere CPI: %w; %s", err, build)
	}
	mod, err := os.ReadFile(filepath.Join("..", "incumbent", "go.mod"))
	if err != nil {
		return "", err
	}
	if !bytes.Contains(mod, []byte("\t"+info.Main.Path+" "+info.Main.Version+" // indirect\n")) {
		return "", fmt.Errorf("%s is %s %s, which test/incumbent/go.mod does not name; %s", built, info.Main.Path, info.Main.Version, build)
	}
	return filepath.Abs(built)
}
