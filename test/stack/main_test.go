package stack

import (
	"context"
	"fmt"
	"os"
	"testing"

	"vzones/test/cluster"
)

// binary is the daemon under test, empty where the control plane is missing.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := cluster.Wanted(); err != nil {
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, every test of the whole stack: %v\n", err)
		return 0
	}
	dir, err := os.MkdirTemp("", "vzones-daemon-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = Build(context.Background(), dir); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// start starts a stack that ends with the test.
func start(t testing.TB, description string) *Stack {
	t.Helper()
	return startWith(t, Options{Fleet: description})
}

func startWith(t testing.TB, options Options) *Stack {
	t.Helper()
	if err := DependOnSources("../.."); err != nil {
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
