package takeover

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"vzones/test/cluster"
	"vzones/test/stack"
)

const (
	// daemonVariable names the daemon that takes over, instead of one that is built from
	// this tree, as for scenarios.
	daemonVariable = "VZONES_DAEMON"
	// incumbentVariable names the vSphere CPI, instead of the one that make incumbent
	// builds.
	incumbentVariable = "VZONES_INCUMBENT"
	// program is what both are called.
	program = "vsphere-cloud-controller-manager"
)

// missing says why nothing can be taken over.
var missing error

func TestMain(m *testing.M) {
	if _, err := cluster.Find(); errors.Is(err, cluster.ErrNoBinaries) {
		missing = err
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, the takeover: %v\n", err)
	}
	os.Exit(m.Run())
}

// daemon returns the path of the daemon.
func daemon(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv(daemonVariable); binary != "" {
		return binary
	}
	if err := stack.DependOnSources(filepath.Join("..", "..")); err != nil {
		t.Fatal(err)
	}
	binary, err := stack.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// incumbent returns the path of the vSphere CPI, which is built if it is not there.
func incumbent(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv(incumbentVariable); binary != "" {
		return binary
	}
	binary, err := filepath.Abs(filepath.Join("..", "..", "bin", "incumbent", program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "incumbent"), "-trimpath", "-ldflags", "-s -w",
		"-o", binary, "k8s.io/cloud-provider-vsphere/cmd/"+program)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the vSphere CPI: %v\n%s", err, out)
	}
	return binary
}
