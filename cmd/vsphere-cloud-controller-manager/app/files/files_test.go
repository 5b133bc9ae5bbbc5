package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watching runs a Watcher of paths until the test ends.
func watching(t *testing.T, paths ...string) *Watcher {
	t.Helper()
	w := New()
	w.Apply(paths)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

var writes atomic.Int64

// write writes a file with a size that it never had: two writes may have one modification time.
func write(t *testing.T, path, content string) {
	t.Helper()
	content += strings.Repeat("\n", int(writes.Add(1)))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	next := path + ".next"
	if err := os.Symlink(target, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// awaitChange waits for a report. The change is made again until there is one.
func awaitChange(t *testing.T, w *Watcher, change func(i int)) {
	t.Helper()
	for i := range 5 {
		change(i)
		select {
		case <-w.Changes():
			return
		case <-time.After(pollPeriod + time.Millisecond):
		}
	}
	t.Fatal("the change was never reported")
}

// drained receives the reports of changes made before.
func drained(w *Watcher) {
	for {
		select {
		case <-w.Changes():
		case <-time.After(2 * pollPeriod):
			return
		}
	}
}

func TestChangesAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		prepare func(t *testing.T, dir string)
		change  func(t *testing.T, dir string, i int)
	}{
		"written in place": {"a.yaml", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.yaml"), "") },
			func(t *testing.T, dir string, i int) { write(t, filepath.Join(dir, "a.yaml"), string(rune('a'+i%26))) }},
		"renamed into place": {"a.yaml", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.yaml"), "") },
			func(t *testing.T, dir string, _ int) {
				write(t, filepath.Join(dir, ".a.swp"), "new")
				if err := os.Rename(filepath.Join(dir, ".a.swp"), filepath.Join(dir, "a.yaml")); err != nil {
					t.Fatal(err)
				}
			}},
		"a mounted ConfigMap": {"a.yaml", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..1", "a.yaml"), "")
			link(t, "..1", filepath.Join(dir, "..data"))
			link(t, "..data/a.yaml", filepath.Join(dir, "a.yaml"))
		}, func(t *testing.T, dir string, i int) {
			next := []string{"..2", "..3"}[i%2]
			write(t, filepath.Join(dir, next, "a.yaml"), "new")
			link(t, next, filepath.Join(dir, "..data"))
		}},
		"a link to another folder": {"here/a.yaml", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "there", "a.yaml"), "")
			write(t, filepath.Join(dir, "here", "b"), "")
			link(t, "../there/a.yaml", filepath.Join(dir, "here", "a.yaml"))
		}, func(t *testing.T, dir string, i int) {
			write(t, filepath.Join(dir, "there", "a.yaml"), string(rune('a'+i%26)))
		}},
		"a directory's files": {"secrets", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "secrets", "a"), "") },
			func(t *testing.T, dir string, i int) {
				write(t, filepath.Join(dir, "secrets", string(rune('a'+i%26))), "new")
			}},
		"a directory that comes later": {"later/still/a", func(*testing.T, string) {},
			func(t *testing.T, dir string, i int) {
				if i > 1 { // no sooner, so that something above it is what tells
					write(t, filepath.Join(dir, "later", "still", "a"), string(rune('a'+i%26)))
				} else {
					write(t, filepath.Join(dir, "other"), string(rune('a'+i%26)))
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				c.prepare(t, dir)
				w := watching(t, filepath.Join(dir, c.path))
				drained(w)
				for i := range 3 { // also after the first
					awaitChange(t, w, func(n int) { c.change(t, dir, 7*i+n) })
					drained(w)
				}
			})
		})
	}
}

// TestWhatIsWatchedIsTold: it was read before, and may have changed since.
func TestWhatIsWatchedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		w := watching(t, path)
		for range 3 {
			select {
			case <-w.Changes():
			case <-time.After(2 * time.Minute):
				t.Fatal("the change was never reported")
			}
			w.Apply([]string{path})
		}
	})
}

// TestWhatIsNotWatchedIsNotTold: of many changes there are few tokens, and none
// once other files are watched.
func TestWhatIsNotWatchedIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "one", "a"), "")
		write(t, filepath.Join(dir, "two", "a"), "")
		w := watching(t, filepath.Join(dir, "one", "a"))
		drained(w)
		awaitChange(t, w, func(i int) { write(t, filepath.Join(dir, "one", "a"), string(rune('a'+i%26))) })
		w.Apply([]string{filepath.Join(dir, "two", "a")})
		drained(w)
		awaitChange(t, w, func(i int) { write(t, filepath.Join(dir, "two", "a"), string(rune('a'+i%26))) })
		drained(w)
		for range 100 {
			write(t, filepath.Join(dir, "one", "a"), "new")
		}
		select {
		case <-w.Changes():
			t.Error("a change is reported that is not watched any more")
		case <-time.After(3 * pollPeriod):
		}
		for range 100 {
			write(t, filepath.Join(dir, "two", "a"), "new")
		}
		drained(w)
		if n := len(w.Changes()); n > 0 {
			t.Errorf("%d tokens are left", n)
		}
	})
}

// TestOtherFilesOfTheDirectory are nobody's business.
func TestOtherFilesOfTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a"), "")
		w := watching(t, filepath.Join(dir, "a"))
		awaitChange(t, w, func(i int) { write(t, filepath.Join(dir, "a"), strings.Repeat("a", i+1)) })
		drained(w)
		for i := range 5 {
			write(t, filepath.Join(dir, "log"), strings.Repeat("line", i))
			select {
			case <-w.Changes():
				t.Fatal("a change of another file is reported")
			case <-time.After(2 * pollPeriod):
			}
		}
		awaitChange(t, w, func(i int) { write(t, filepath.Join(dir, "a"), strings.Repeat("b", i+9)) })
	})
}
