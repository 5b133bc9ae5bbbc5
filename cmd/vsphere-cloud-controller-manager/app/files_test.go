package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// watchFiles runs a fileWatcher of paths until the test ends.
func watchFiles(t *testing.T, paths ...string) *fileWatcher {
	t.Helper()
	w := newFileWatcher()
	w.apply(paths)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

var fileWrites atomic.Int64

// writeFile writes a file with a new size, since two writes may have the same modification time.
func writeFile(t *testing.T, path, content string) {
	t.Helper()
	content += strings.Repeat("\n", int(fileWrites.Add(1)))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// link makes path a symbolic link to target, replacing any previous link.
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

// awaitFileChange repeats a change until it is reported.
func awaitFileChange(t *testing.T, w *fileWatcher, change func(i int)) {
	t.Helper()
	for i := range 5 {
		change(i)
		select {
		case <-w.changes:
			return
		case <-time.After(filePollPeriod + time.Millisecond):
		}
	}
	t.Fatal("the change was never reported")
}

// drainFileChanges discards earlier reports.
func drainFileChanges(w *fileWatcher) {
	for {
		select {
		case <-w.changes:
		case <-time.After(2 * filePollPeriod):
			return
		}
	}
}

// TestFileChangesAreReported: all ways in which Kubernetes and editors change files.
func TestFileChangesAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		prepare func(t *testing.T, dir string)
		change  func(t *testing.T, dir string, i int)
	}{
		"written in place": {"a.yaml", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "a.yaml"), "") },
			func(t *testing.T, dir string, i int) {
				writeFile(t, filepath.Join(dir, "a.yaml"), string(rune('a'+i%26)))
			}},
		"renamed into place": {"a.yaml", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "a.yaml"), "") },
			func(t *testing.T, dir string, _ int) {
				writeFile(t, filepath.Join(dir, ".a.swp"), "new")
				if err := os.Rename(filepath.Join(dir, ".a.swp"), filepath.Join(dir, "a.yaml")); err != nil {
					t.Fatal(err)
				}
			}},
		"a mounted ConfigMap": {"a.yaml", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "..1", "a.yaml"), "")
			link(t, "..1", filepath.Join(dir, "..data"))
			link(t, "..data/a.yaml", filepath.Join(dir, "a.yaml"))
		}, func(t *testing.T, dir string, i int) {
			next := []string{"..2", "..3"}[i%2]
			writeFile(t, filepath.Join(dir, next, "a.yaml"), "new")
			link(t, next, filepath.Join(dir, "..data"))
		}},
		"a link to another folder": {"here/a.yaml", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "there", "a.yaml"), "")
			writeFile(t, filepath.Join(dir, "here", "b"), "")
			link(t, "../there/a.yaml", filepath.Join(dir, "here", "a.yaml"))
		}, func(t *testing.T, dir string, i int) {
			writeFile(t, filepath.Join(dir, "there", "a.yaml"), string(rune('a'+i%26)))
		}},
		"a directory's files": {"secrets", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "secrets", "a"), "") },
			func(t *testing.T, dir string, i int) {
				writeFile(t, filepath.Join(dir, "secrets", string(rune('a'+i%26))), "new")
			}},
		"a directory that comes later": {"later/still/a", func(*testing.T, string) {},
			func(t *testing.T, dir string, i int) {
				// At first only the parent directory changes.
				if i > 1 {
					writeFile(t, filepath.Join(dir, "later", "still", "a"), string(rune('a'+i%26)))
				} else {
					writeFile(t, filepath.Join(dir, "other"), string(rune('a'+i%26)))
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				c.prepare(t, dir)
				w := watchFiles(t, filepath.Join(dir, c.path))
				drainFileChanges(w)
				for i := range 3 {
					awaitFileChange(t, w, func(n int) { c.change(t, dir, 7*i+n) })
					drainFileChanges(w)
				}
			})
		})
	}
}

// TestNewFilesAreReported: new files may have changed since they were read.
func TestNewFilesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		w := watchFiles(t, path)
		for range 3 {
			select {
			case <-w.changes:
			case <-time.After(2 * time.Minute):
				t.Fatal("the change was never reported")
			}
			w.apply([]string{path})
		}
	})
}

// TestUnwatchedFilesAreNotReported: many changes cause few reports, and none once the watched files are
// replaced.
func TestUnwatchedFilesAreNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "one", "a"), "")
		writeFile(t, filepath.Join(dir, "two", "a"), "")
		w := watchFiles(t, filepath.Join(dir, "one", "a"))
		drainFileChanges(w)
		awaitFileChange(t, w, func(i int) { writeFile(t, filepath.Join(dir, "one", "a"), string(rune('a'+i%26))) })
		w.apply([]string{filepath.Join(dir, "two", "a")})
		drainFileChanges(w)
		awaitFileChange(t, w, func(i int) { writeFile(t, filepath.Join(dir, "two", "a"), string(rune('a'+i%26))) })
		drainFileChanges(w)
		for range 100 {
			writeFile(t, filepath.Join(dir, "one", "a"), "new")
		}
		select {
		case <-w.changes:
			t.Error("a change is reported that is not watched any more")
		case <-time.After(3 * filePollPeriod):
		}
		for range 100 {
			writeFile(t, filepath.Join(dir, "two", "a"), "new")
		}
		drainFileChanges(w)
		if n := len(w.changes); n > 0 {
			t.Errorf("%d tokens are left", n)
		}
	})
}

// TestOtherFilesOfTheDirectory: files beside a watched file are not reported.
func TestOtherFilesOfTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "a"), "")
		w := watchFiles(t, filepath.Join(dir, "a"))
		awaitFileChange(t, w, func(i int) { writeFile(t, filepath.Join(dir, "a"), strings.Repeat("a", i+1)) })
		drainFileChanges(w)
		for i := range 5 {
			writeFile(t, filepath.Join(dir, "log"), strings.Repeat("line", i))
			select {
			case <-w.changes:
				t.Fatal("a change of another file is reported")
			case <-time.After(2 * filePollPeriod):
			}
		}
		awaitFileChange(t, w, func(i int) { writeFile(t, filepath.Join(dir, "a"), strings.Repeat("b", i+9)) })
	})
}
