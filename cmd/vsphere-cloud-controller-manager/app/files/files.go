// Package files reports when files may have changed, including those that Kubernetes
// replaces by pointing a symbolic link elsewhere. It never reads them.
package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"

	"vzones/topology/signal"
)

const (
	// quietPeriod is how long nothing may happen before a change is reported: an editor
	// writes in several steps.
	quietPeriod = 100 * time.Millisecond
	// maxDelay bounds that where something happens all the time.
	maxDelay = time.Second
	// resyncPeriod is the time between two reports without an event, for file systems that
	// send none, such as NFS.
	resyncPeriod = time.Minute
	// pollPeriod is the same where nothing can be watched.
	pollPeriod = 10 * time.Second
)

// A Watcher reports when files may have changed.
type Watcher struct {
	changes signal.Signal // from Run to the caller

	mu      sync.Mutex
	paths   []string
	applied signal.Signal // from Apply to Run
}

// New returns a Watcher that watches nothing yet.
func New() *Watcher {
	return &Watcher{changes: signal.New(), applied: signal.New()}
}

// Changes gets a value when one of the files, or one in a directory, may have changed: about a
// second after the change at most, once a minute in any case, and when the watch begins, since
// no event reports an earlier change.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Apply sets which files and directories are watched. They need not exist.
func (w *Watcher) Apply(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths = paths
	w.applied.Notify()
}

func (w *Watcher) watched() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paths
}

// Run watches until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		// Nodes have few inotify instances, and other Pods take them.
		klog.FromContext(ctx).Error(err, "Cannot watch files; they are polled every few seconds", "every", pollPeriod)
		return w.poll(ctx)
	}
	defer events.Close()
	resync := time.NewTicker(resyncPeriod)
	defer resync.Stop()
	var due <-chan time.Time
	var first time.Time
	var seen string
	for {
		select {
		case <-w.applied:
			w.watch(ctx, events)
			seen = w.fingerprint()
			w.changes.Notify() // they may have changed since they were read
		case _, ok := <-events.Events:
			if !ok {
				return nil
			}
			if due == nil {
				first = time.Now()
			}
			due = time.After(min(quietPeriod, maxDelay-time.Since(first)))
		case err := <-events.Errors:
			klog.FromContext(ctx).Error(err, "Cannot watch files; they are polled once a minute", "every", resyncPeriod)
			w.changes.Notify() // what is lost may be an event of a change
		case <-due:
			due = nil
			w.watch(ctx, events)
			// The directories have other files besides, such as logs.
			if now := w.fingerprint(); now != seen {
				seen = now
				w.changes.Notify()
			}
		case <-resync.C:
			w.watch(ctx, events)
			seen = w.fingerprint()
			w.changes.Notify()
		case <-ctx.Done():
			return nil
		}
	}
}

// poll reports a change at intervals.
func (w *Watcher) poll(ctx context.Context) error {
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.changes.Notify()
		case <-ctx.Done():
			return nil
		}
	}
}

// watch watches the directories that hold the files now, also behind symbolic links, or the
// nearest ones above that exist.
func (w *Watcher) watch(ctx context.Context, events *fsnotify.Watcher) {
	now := map[string]bool{}
	for _, path := range w.watched() {
		for _, p := range []string{path, target(path)} {
			now[p] = true
			now[filepath.Dir(p)] = true
		}
	}
	for _, dir := range events.WatchList() {
		if !now[dir] {
			_ = events.Remove(dir) // it may be gone
		}
	}
	for path := range now {
		for p := path; events.Add(p) != nil; p = filepath.Dir(p) {
			if p == filepath.Dir(p) {
				klog.FromContext(ctx).V(2).Info("No directory can be watched; it is polled once a minute", "path", path, "every", resyncPeriod)
				break
			}
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
		fmt.Fprintln(&b, target(path), info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	for _, path := range w.watched() {
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

// target returns where symbolic links lead: the path itself if it is none.
func target(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
