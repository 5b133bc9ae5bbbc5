package provider

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waits are the Nodes that the framework was told to leave alone. It does not ask
// for them again before they change, so each has to be woken once it can be
// initialized, even if it could be before the framework asked.
type waits struct {
	mu    sync.Mutex
	nodes map[types.UID]wait
}

type wait struct {
	// asking is how many questions are not answered yet. What such an answer is made
	// of was perhaps looked at already.
	asking int
	// told reports whether an answer was to wait.
	told bool
}

// ask notes that the framework asks for a Node, before anything is looked at. The
// function that it returns has to be called with what the answer is.
func (w *waits) ask(node types.UID) (answer func(wait bool)) {
	w.update(node, func(n *wait) { n.asking++ })
	return func(told bool) {
		w.update(node, func(n *wait) {
			n.asking--
			n.told = n.told || told
		})
	}
}

// take reports whether the framework may have been told that a Node has to wait
// since the last call.
func (w *waits) take(node types.UID) bool {
	may := false
	w.update(node, func(n *wait) {
		may = n.told || n.asking > 0
		n.told = false
	})
	return may
}

// keep forgets all Nodes but these.
func (w *waits) keep(nodes []*v1.Node) {
	there := make(map[types.UID]bool, len(nodes))
	for _, n := range nodes {
		there[n.UID] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for node, n := range w.nodes {
		if n.asking == 0 && !there[node] {
			delete(w.nodes, node)
		}
	}
}

func (w *waits) update(node types.UID, change func(*wait)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.nodes[node]
	change(&n)
	if n == (wait{}) {
		delete(w.nodes, node)
		return
	}
	if w.nodes == nil {
		w.nodes = map[types.UID]wait{}
	}
	w.nodes[node] = n
}
