// Package files reports when files may have changed, including those that Kubernetes
// replaces by pointing a symbolic link elsewhere. It looks at their size and times, and never reads them.
package files

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
	// pollPeriod is the time between two looks at the files.
	pollPeriod = time.Second
	// resyncPeriod is the time between two reports without a change, since a file may not have been
	// readable when its change was reported.
	resyncPeriod = time.Minute
)

// A Watcher reports when files may have changed.
type Watcher struct {
	paths   atomic.Pointer[[]string]
	applied signal.Signal // from Apply to Run
	changes signal.Signal // from Run to the caller
}

// New returns a Watcher that watches nothing yet.
func New() *Watcher {
	w := &Watcher{changes: signal.New(), applied: signal.New()}
	w.paths.Store(new([]string))
	return w
}

// Changes gets a value when one of the files, or one in a directory, may have changed: about a
// second after the change at most, once a minute in any case, and when the watch begins.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Apply sets which files and directories are watched. They need not exist.
func (w *Watcher) Apply(paths []string) {
	w.paths.Store(&paths)
	w.applied.Notify()
}

// Run watches until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	poll := time.NewTicker(pollPeriod)
	defer poll.Stop()
	resync := time.NewTicker(resyncPeriod)
	defer resync.Stop()
	var seen string
	for {
		select {
		case <-w.applied:
			seen = w.fingerprint()
			w.changes.Notify() // they may have changed since they were read
		case <-poll.C:
			if now := w.fingerprint(); now != seen {
				seen = now
				w.changes.Notify()
			}
		case <-resync.C:
			w.changes.Notify()
		case <-ctx.Done():
			return nil
		}
	}
}

// fingerprint returns what differs when the files may have changed, without reading them.
func (w *Watcher) fingerprint() string {
	var b strings.Builder
	add := func(path string) {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintln(&b, path, err)
			return
		}
		real, _ := filepath.EvalSymlinks(path) // where symbolic links lead
		fmt.Fprintln(&b, path, real, info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	for _, path := range *w.paths.Load() {
		add(path)
		entries, err := os.ReadDir(path)
		if err != nil {
			continue // it is a file
		}
		for _, e := range entries {
			add(filepath.Join(path, e.Name()))
		}
	}
	return b.String()
}
