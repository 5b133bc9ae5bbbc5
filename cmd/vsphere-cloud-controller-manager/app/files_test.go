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

// fileWrites counts the calls of writeFile.
var fileWrites atomic.Int64

// writeFile writes a file with a size that it never had: two writes may have one modification time.
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

// link makes path a symbolic link to target, also if it was another link before.
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

// awaitFileChange waits for a report. The change is made again until there is one.
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

// drainFileChanges receives the reports of changes made before.
func drainFileChanges(w *fileWatcher) {
	for {
		select {
		case <-w.changes:
		case <-time.After(2 * filePollPeriod):
			return
		}
	}
}

// TestFileChangesAreReported in each way in which Kubernetes and editors change files.
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
				// At first only the directory above it changes.
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

// TestNewFilesAreReported: they were read before, and may have changed since.
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

// TestUnwatchedFilesAreNotReported: many changes make few reports, and none once other files are watched.
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

// TestOtherFilesOfTheDirectory are not reported.
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
