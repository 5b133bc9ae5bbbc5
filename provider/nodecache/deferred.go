package nodecache

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Deferred are the Nodes that the framework has to leave for later. It does not ask
// for them again before they change, so each has to be announced once it can be
// initialized, even if it could be before the framework asked.
type Deferred struct {
	mu    sync.Mutex
	nodes map[types.UID]deferral
}

// deferral is what the framework asked about one Node.
type deferral struct {
	// asking is how many questions are not answered yet. The answers may rest on what
	// has changed since.
	asking int
	// deferred reports whether the answer to one was to wait.
	deferred bool
}

// Ask notes that the framework asks about a Node, before anything is looked up. The
// function that it returns has to be called with the answer.
func (d *Deferred) Ask(node types.UID) (answer func(wait bool)) {
	d.update(node, func(n *deferral) { n.asking++ })
	return func(deferred bool) {
		d.update(node, func(n *deferral) {
			if n.asking == 0 {
				return // the Node is gone
			}
			n.asking--
			n.deferred = n.deferred || deferred
		})
	}
}

// Take reports whether the framework may have got the answer that a Node has to wait
// since the last call.
func (d *Deferred) Take(node types.UID) bool {
	may := false
	d.update(node, func(n *deferral) {
		may = n.deferred || n.asking > 0
		n.deferred = false
	})
	return may
}

// IsPending reports whether Take would.
func (d *Deferred) IsPending(node types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[node]
	return n.deferred || n.asking > 0
}

// Forget ends what is known of a Node that is gone.
func (d *Deferred) Forget(node types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, node)
}

func (d *Deferred) update(node types.UID, change func(*deferral)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[node]
	change(&n)
	if n == (deferral{}) {
		delete(d.nodes, node)
		return
	}
	if d.nodes == nil {
		d.nodes = map[types.UID]deferral{}
	}
	d.nodes[node] = n
}
