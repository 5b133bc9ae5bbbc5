package chart

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the plain manifest, values.schema.json and the reference of values")

var helm *Helm

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	var err error
	if helm, err = Find(); testing.Short() {
		err = fmt.Errorf("%w, which -short leaves out", ErrNoHelm)
	}
	if errors.Is(err, ErrNoHelm) {
		// With this line go test prints [no tests to run] behind the package's name.
		fmt.Printf("testing: warning: no tests to run\nleft out, every test of the chart: %v\n", err)
		return 0
	} else if err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// dependOnChart makes the cached result of a test depend on the chart and on Helm. go test caches a
// result until a file opened by the test changes, and does not see the files that Helm opens. A
// folder stands for its files.
func dependOnChart(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(helm.Root(), "manifests"), func(_ string, _ fs.DirEntry, err error) error { return err })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(helm.path); err != nil {
		t.Fatal(err)
	}
}

// examples returns the names of the chart's values files.
func examples(t *testing.T) []string {
	t.Helper()
	dependOnChart(t)
	files, err := filepath.Glob(helm.Example("*"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	return names
}

// values writes a values file and returns its path.
func values(t *testing.T, content string) string {
	t.Helper()
	dependOnChart(t)
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// render renders the chart for kube-system with an example and further values.
func render(t *testing.T, example string, further ...string) []byte {
	t.Helper()
	dependOnChart(t)
	files := []string{helm.Example(example)}
	for _, v := range further {
		files = append(files, values(t, v))
	}
	out, err := helm.Template(t.Context(), files...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// current checks that a file matches the generated content, or writes it with -update.
func current(t *testing.T, file string, want func(context.Context) ([]byte, error)) {
	t.Helper()
	dependOnChart(t)
	made, err := want(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(helm.Root(), file)
	if *update {
		if err := os.WriteFile(path, made, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != string(made) {
		t.Errorf("%s is not current: run go test ./test/chart -update\n%s", file, firstDifference(string(is), string(made)))
	}
}

func firstDifference(is, made string) string {
	a := strings.Split(is, "\n")
	b := strings.Split(made, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d is    %q\nit becomes %q", i+1, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
		}
	}
	return ""
}
