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

// start makes a request for a Node, and calls done when it has ended and the next one can
// be made. While another one for the Node is under way it does nothing, and returns when to
// try again.
func (w *writes) start(node types.UID, request, done func()) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[node] {
		return writePause
	}
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
	return 0
}

// wait waits for all requests. None may be started any more.
func (w *writes) wait() { w.g.Wait() }
