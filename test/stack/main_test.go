package stack

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vzones/test/cluster"
)

// binary is the daemon under test, "" without a control plane.
var binary string

var root = filepath.Join("..", "..")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := cluster.Wanted(); err != nil {
		// With this line go test prints [no tests to run] behind the package's name; it hides any other
		// output of a passing package.
		fmt.Printf("testing: warning: no tests to run\nskipped all tests of the stack: %v\n", err)
		return 0
	}
	// More than the number of processors, because tests mostly wait.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Println(err)
		return 1
	}
	dir, err := os.MkdirTemp("", "vzones-daemon-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = Binary(context.Background(), root, dir); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// start starts a stack that ends with the test. The test runs in parallel, and its cached result depends on the daemon's
// sources.
func start(t *testing.T, options Options) *Stack {
	t.Helper()
	t.Parallel()
	if err := DependOnSources(root); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// await polls a condition for at most two minutes.
func await(t *testing.T, what string, is func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := until(ctx, func() (bool, error) { return is(ctx) }); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
