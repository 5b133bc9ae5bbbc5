package stack

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config")
	m, err := NewMount(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		do   func() error
		want map[string]string
	}{
		{func() error { return m.Swap(map[string][]byte{"a": []byte("1"), "b": []byte("1")}) }, map[string]string{"a": "1", "b": "1"}},
		{func() error { return m.Swap(map[string][]byte{"a": []byte("2")}) }, map[string]string{"a": "2"}},
		{func() error { return m.Write("a", []byte("3"), InPlace) }, map[string]string{"a": "3"}},
		{func() error { return m.Write("a", []byte("4"), Renamed) }, map[string]string{"a": "4"}},
		{func() error { return m.Swap(map[string][]byte{"a": []byte("5")}) }, map[string]string{"a": "5"}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.want, filesIn(t, dir)); d != "" {
			t.Errorf("step %d (-want +got):\n%s", i, d)
		}
	}
	to, err := os.Readlink(m.Path("a"))
	if err != nil || to != filepath.Join("..data", "a") {
		t.Errorf("the file is a link to %q, %v", to, err)
	}
	contents, err := filepath.Glob(filepath.Join(dir, "..2*"))
	if err != nil || len(contents) != 1 {
		t.Errorf("contents %q, %v", contents, err)
	}
	if to, err = os.Readlink(m.Path("..data")); err != nil || !slices.Contains(contents, filepath.Join(dir, to)) {
		t.Errorf("..data is a link to %q, %v", to, err)
	}
	if err := m.Write("a", nil, "by hand"); err == nil {
		t.Error("it writes in a way that it does not know")
	}
	if _, err := NewMount(dir); err == nil {
		t.Error("two in one folder")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := m.Swap(nil); err == nil {
		t.Error("it swaps what is gone")
	}
}

// filesIn reads the files that a program sees that leaves out what begins with a
// dot.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(p)] = string(data)
	}
	return all
}
