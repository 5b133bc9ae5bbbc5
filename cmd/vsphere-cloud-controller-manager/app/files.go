package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"vzones/internal/signal"
)

const (
	filePollPeriod = time.Second
	// fileResyncPeriod is the interval of notifications without a change: a changed file may not have been
	// readable at first.
	fileResyncPeriod = time.Minute
)

// A fileWatcher reports when files may have changed, including files that Kubernetes replaces through a
// symbolic link. It compares sizes and times, and never reads the content.
type fileWatcher struct {
	paths atomic.Pointer[[]string]
	// applied wakes run.
	applied signal.Signal
	// changes is notified within about a second of a change of a file or a directory entry, once a minute
	// without a change, and after apply.
	changes signal.Signal
}

func newFileWatcher() *fileWatcher {
	w := &fileWatcher{changes: signal.New(), applied: signal.New()}
	w.paths.Store(new([]string))
	return w
}

// apply sets the watched files and directories, which need not exist.
func (w *fileWatcher) apply(paths []string) {
	w.paths.Store(&paths)
	w.applied.Notify()
}

func (w *fileWatcher) run(ctx context.Context) error {
	poll := time.NewTicker(filePollPeriod)
	defer poll.Stop()
	resync := time.NewTicker(fileResyncPeriod)
	defer resync.Stop()
	var reported string
	for {
		select {
		case <-w.applied:
			// The files may have changed since they were read.
			reported = w.fingerprint()
			w.changes.Notify()
		case <-poll.C:
			if current := w.fingerprint(); current != reported {
				reported = current
				w.changes.Notify()
			}
		case <-resync.C:
			w.changes.Notify()
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *fileWatcher) fingerprint() string {
	var b strings.Builder
	add := func(path string) {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintln(&b, path, err)
			return
		}
		target, _ := filepath.EvalSymlinks(path)
		fmt.Fprintln(&b, path, target, info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	for _, path := range *w.paths.Load() {
		add(path)
		entries, err := os.ReadDir(path)
		if err != nil {
			continue
		}
		for _, e := range entries {
			add(filepath.Join(path, e.Name()))
		}
	}
	return b.String()
}
