package nodes

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// writePause is when a Node is looked at again that is being written.
const writePause = time.Second

// writes are the requests to the API server that are under way: one for each Node, beside the
// goroutine that decides, so that a slow API server keeps no Node from being announced.
type writes struct {
	mu    sync.Mutex
	nodes map[types.UID]bool
	g     sync.WaitGroup
}

// pause returns when to try again while a request for a Node is under way, 0 if none is.
func (w *writes) pause(node types.UID) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[node] {
		return writePause
	}
	return 0
}

// start makes a request for a Node that has none under way, and calls done when it has ended
// and the next one can be made.
func (w *writes) start(node types.UID, request, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes == nil {
		w.nodes = map[types.UID]bool{}
	}
	w.nodes[node] = true
	w.g.Go(func() {
		request()
		w.mu.Lock()
		delete(w.nodes, node)
		w.mu.Unlock()
		done()
	})
}

// wait waits for all requests. None may be started any more.
func (w *writes) wait() { w.g.Wait() }
