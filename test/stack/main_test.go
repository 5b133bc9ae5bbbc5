package stack

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"vzones/test/cluster"
)

// binary is the daemon under test, empty where the control plane is left out.
var binary string

// pool has the stacks of the tests that leave nothing behind but what Reset takes away.
var pool = NewPool(root, poolSize)

const poolSize = 4

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
	if err := flag.Set("test.parallel", strconv.Itoa(poolSize)); err != nil {
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
	pool.binary = binary
	status := m.Run()
	if err := pool.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return status
}

// start gives the test a stack of the pool, with the fleet of a description.
func start(t testing.TB, description string) *Stack {
	t.Helper()
	prepare(t)
	s, _, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Release(s) })
	if err := s.Reset(t.Context(), description); err != nil {
		t.Fatal(err)
	}
	return s
}

// startOwn starts a stack that ends with the test, for one that leaves objects in the cluster or
// has options.
func startOwn(t testing.TB, options Options) *Stack {
	t.Helper()
	prepare(t)
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

// prepare has tests run in parallel, and their results depend on the daemon's sources.
func prepare(t testing.TB) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	if err := DependOnSources(root); err != nil {
		t.Fatal(err)
	}
}
