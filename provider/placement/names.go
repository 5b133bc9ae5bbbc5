package placement

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// namesServeFor is for how long names serve a Node that waited for them, from when they first
// did, where they take longer to read than the refresh interval.
const namesServeFor = time.Minute

// nameWaits are the Nodes that wait for names to be read and for nothing else.
type nameWaits struct {
	mu    sync.Mutex
	nodes map[types.UID]nameWait
}

// nameWait is when a Node began to wait, and when names first served it, zero if none have.
type nameWait struct{ began, served time.Time }

// since returns when a Node began to wait, which is now if it did not, or names have
// served it long ago.
func (w *nameWaits) since(node types.UID) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes == nil {
		w.nodes = map[types.UID]nameWait{}
	}
	now := w.nodes[node]
	if now.began.IsZero() || !now.served.IsZero() && time.Since(now.served) > namesServeFor {
		now = nameWait{began: time.Now()}
		w.nodes[node] = now
	}
	return now.began
}

// serve notes that names were read since a Node began to wait.
func (w *nameWaits) serve(node types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now, ok := w.nodes[node]; ok && now.served.IsZero() {
		now.served = time.Now()
		w.nodes[node] = now
	}
}

func (w *nameWaits) forget(node types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, node)
}
