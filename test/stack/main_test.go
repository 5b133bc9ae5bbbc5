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

// binary is the daemon under test, empty where the control plane is left out.
var binary string

var root = filepath.Join("..", "..")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := cluster.Wanted(); err != nil {
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, every test of the whole stack: %v\n", err)
		return 0
	}
	// More than there are processors: tests mostly wait.
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

// start starts a stack that ends with the test. Tests run in parallel, and their results depend on the daemon's
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

// await asks again and again until something is so, for two minutes at most.
func await(t *testing.T, what string, is func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := until(ctx, func() (bool, error) { return is(ctx) }); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
