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
	// filePollPeriod is the time between two looks at the files.
	filePollPeriod = time.Second
	// fileResyncPeriod is the time between two reports without a change, since a file may not have been
	// readable when its change was reported.
	fileResyncPeriod = time.Minute
)

// A fileWatcher reports when files may have changed, including those that Kubernetes replaces by
// pointing a symbolic link elsewhere. It compares their sizes and times, and never reads them.
type fileWatcher struct {
	paths atomic.Pointer[[]string]
	// applied wakes run after apply.
	applied signal.Signal
	// changes gets a value when a file, or a file in a directory, may have changed: about a second after the
	// change at the latest, once a minute in any case, and when the watch begins.
	changes signal.Signal
}

// newFileWatcher returns a fileWatcher that watches nothing yet.
func newFileWatcher() *fileWatcher {
	w := &fileWatcher{changes: signal.New(), applied: signal.New()}
	w.paths.Store(new([]string))
	return w
}

// apply sets which files and directories are watched. They need not exist.
func (w *fileWatcher) apply(paths []string) {
	w.paths.Store(&paths)
	w.applied.Notify()
}

// run watches until the context is done.
func (w *fileWatcher) run(ctx context.Context) error {
	poll := time.NewTicker(filePollPeriod)
	defer poll.Stop()
	resync := time.NewTicker(fileResyncPeriod)
	defer resync.Stop()
	var reported string
	for {
		select {
		case <-w.applied:
			// The files may have changed since the configuration was read.
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

// fingerprint describes the files. It differs after a change, and reads no file.
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
			// Most likely it is a file, which has no entries.
			continue
		}
		for _, e := range entries {
			add(filepath.Join(path, e.Name()))
		}
	}
	return b.String()
}
