package nodes

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gather is how long changes of Nodes are gathered before they are acted
// on, so that a burst of them costs one request and not one each.
const gather = 100 * time.Millisecond

// resyncEvery is the time between two passes over all Nodes while nothing changes. They renew
// what is remembered of machines.
const resyncEvery = time.Minute

// An item is a Node, or something that is about all Nodes.
type item struct {
	job  job
	name string
	uid  types.UID
}

// A job is what is done with an item.
type job int

const (
	// syncNode decides about one Node.
	syncNode job = iota
	// observeNodes enqueues the Nodes that a change of the fleet, or of other Nodes, concerns.
	observeNodes
	// recheckNodes enqueues the Nodes that a change of another Node may concern.
	recheckNodes
	// resyncNodes enqueues all Nodes, every resyncEvery.
	resyncNodes
	// followNodes has the fleet follow the machines of all Nodes.
	followNodes
	// sumNodes logs how many Nodes are placed, every sumEvery.
	sumNodes
	// findConflicts looks for conflicts of the whole fleet.
	findConflicts
)

func itemOf(n *v1.Node) item { return item{name: n.Name, uid: n.UID} }

// sooner returns the shorter of two delays. One that is not positive is none.
func sooner(a, b time.Duration) time.Duration {
	if b <= 0 || a > 0 && a < b {
		return a
	}
	return b
}

// until returns how long it is until a time, 0 if that is zero.
func until(due time.Time) time.Duration {
	if due.IsZero() {
		return 0
	}
	return max(time.Until(due), time.Millisecond)
}
