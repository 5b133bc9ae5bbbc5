// Package files tells when files may have changed, those too that Kubernetes puts
// in place by pointing a symbolic link elsewhere. It never reads them.
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
)

const (
	// quiet is how long nothing may happen before a change is told: an editor
	// writes in several steps.
	quiet = 100 * time.Millisecond
	// patience bounds that where something happens all the time.
	patience = time.Second
	// anyway is the time between two tokens without a sign of change, for file
	// systems that give none, such as NFS.
	anyway = time.Minute
	// without is the same where nothing can be watched.
	without = 10 * time.Second
)

// A Watcher tells when files may have changed.
type Watcher struct {
	changes chan struct{}

	mu      sync.Mutex
	wanted  []string
	applied chan struct{}
}

// New returns a Watcher that watches nothing yet.
func New() *Watcher {
	return &Watcher{changes: make(chan struct{}, 1), applied: make(chan struct{}, 1)}
}

// Changes has a token when one of the files, or of the files in one of the
// directories, may have changed: about a second after that at most, once a minute
// in any case, and when they begin to be watched, as nothing tells of what has
// changed before.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Apply says which files and directories to watch, instead of those before. They
// need not exist.
func (w *Watcher) Apply(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = paths
	token(w.applied)
}

func (w *Watcher) paths() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted
}

// Run watches until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		// Nodes have few inotify instances, and other Pods take them.
		klog.FromContext(ctx).Error(err, "Cannot watch files; they are looked at every few seconds", "every", without)
		return w.look(ctx)
	}
	defer notify.Close()
	again := time.NewTicker(anyway)
	defer again.Stop()
	var due <-chan time.Time
	var first time.Time
	var seen string
	for {
		select {
		case <-w.applied:
			w.follow(ctx, notify)
			seen = w.signs()
			w.tell() // they may have changed since they were read
		case _, ok := <-notify.Events:
			if !ok {
				return nil
			}
			if due == nil {
				first = time.Now()
			}
			due = time.After(min(quiet, patience-time.Since(first)))
		case err := <-notify.Errors:
			klog.FromContext(ctx).Error(err, "Cannot watch files; they are looked at once a minute", "every", anyway)
			w.tell() // what is lost may be the sign of a change
		case <-due:
			due = nil
			w.follow(ctx, notify)
			// The directories have other files besides, such as logs.
			if now := w.signs(); now != seen {
				seen = now
				w.tell()
			}
		case <-again.C:
			w.follow(ctx, notify)
			seen = w.signs()
			w.tell()
		case <-ctx.Done():
			return nil
		}
	}
}

// look tells of a change at intervals.
func (w *Watcher) look(ctx context.Context) error {
	again := time.NewTicker(without)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			w.tell()
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *Watcher) tell() { token(w.changes) }

// token puts a token into a channel that has room for one.
func token(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it has one
	}
}

// follow watches the directories that hold the files now, those behind symbolic
// links too, or the nearest ones above that exist.
func (w *Watcher) follow(ctx context.Context, notify *fsnotify.Watcher) {
	now := map[string]bool{}
	for _, path := range w.paths() {
		for _, p := range []string{path, target(path)} {
			now[p] = true
			now[filepath.Dir(p)] = true
		}
	}
	for _, dir := range notify.WatchList() {
		if !now[dir] {
			_ = notify.Remove(dir) // it may be gone
		}
	}
	for path := range now {
		for p := path; notify.Add(p) != nil; p = filepath.Dir(p) {
			if p == filepath.Dir(p) {
				klog.FromContext(ctx).V(2).Info("No directory can be watched; it is looked at once a minute", "path", path, "every", anyway)
				break
			}
		}
	}
}

// signs are what shows without reading the files that they may have changed.
func (w *Watcher) signs() string {
	var b strings.Builder
	sign := func(path string) {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintln(&b, path, err)
			return
		}
		fmt.Fprintln(&b, target(path), info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	for _, path := range w.paths() {
		sign(path)
		entries, err := os.ReadDir(path)
		if err != nil {
			continue // it is a file
		}
		for _, e := range entries {
			sign(filepath.Join(path, e.Name()))
		}
	}
	return b.String()
}

// target is where symbolic links lead, the path itself if nowhere.
func target(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
