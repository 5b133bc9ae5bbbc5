package nodes

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// busyTime is how long the framework may take to initialize Nodes before anything else is
// written.
const busyTime = 2 * time.Second

// busy are the Nodes that the framework has to initialize. While there are some, nothing
// else is written, unless it takes too long.
type busy struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// add notes that a Node was announced to the framework.
func (b *busy) add(node types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since == nil {
		b.since = map[types.UID]time.Time{}
	}
	b.since[node] = time.Now()
}

// done notes that a Node is initialized, cannot be, or is gone.
func (b *busy) done(node types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.since, node)
}

// is reports whether the framework has Nodes to initialize.
func (b *busy) is() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for node, at := range b.since {
		if time.Since(at) < busyTime {
			return true
		}
		delete(b.since, node)
	}
	return false
}
