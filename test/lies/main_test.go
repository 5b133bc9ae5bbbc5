package lies

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"vzones/test/cluster"
	"vzones/test/stack"
)

var update = flag.Bool("update", false, "write the table of lies into testdata")

// missing says why no lie can be played.
var missing error

func TestMain(m *testing.M) {
	if err := cluster.Wanted(); err != nil {
		missing = err
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, every lie: %v\n", err)
	}
	os.Exit(m.Run())
}

// daemon returns the path of the daemon to lie to.
func daemon(t *testing.T) string {
	t.Helper()
	binary, err := stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
