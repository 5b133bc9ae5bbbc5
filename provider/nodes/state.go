package nodes

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/condition"
	"vzones/provider/placement"
	"vzones/vcenter/inventory"
)

// state is what is known of one Node. It belongs to the goroutine that decides, and what
// others read of it is changed under the controller's lock.
type state struct {
	// node and machine are what the last sync went by; machine is nil if the Node has to be
	// decided about whenever something changes.
	node    *v1.Node
	machine *inventory.Machine
	// announced is what the framework was last announced that the Node can be initialized
	// with, and announcedAt when that was, zero if it has initialized the Node.
	announced   *cloudprovider.InstanceMetadata
	announcedAt time.Time
	// waits is what an uninitialized Node waits for, or what is wrong with an initialized
	// one; kept is why it is not deleted.
	waits, kept condition.Condition
	// shared reports whether another Node has the machine too, or an address that the Node
	// would get: then a change of any Node may concern this one.
	shared bool
	// later reports whether another Node with the machine of an initialized one was
	// before it.
	later bool
	// absent reports whether the machine is absent, which is being confirmed.
	absent bool
	// event, keptEvent and write are when the Node may do these.
	event, keptEvent, write reservation

	// What follows is changed under the lock.

	// writing reports whether a request to the API server is under way: there is one at a time.
	writing    bool
	annotation annotation
	labels     labelState
	// initialized is when the framework initialized it, zero if that was not seen.
	initialized time.Time
	// byFramework are labels that the framework wrote for us and that are not in the
	// annotation yet, with their values.
	byFramework map[string]string
}

// annotation is what is remembered of writing onto a Node where its machine was found, so that a
// restart does not forget it: a machine whose configuration cannot be read has no UUID.
type annotation struct {
	// pace is when the Node may be written.
	pace reservation
	// written is the location that was written last, or refused for good, and next is when it
	// is written again. Failures are those since one was written. They are changed under the lock.
	written  placement.Location
	next     time.Time
	failures int
}

// stateOf returns the state of a Node.
func (c *Controller) stateOf(n *v1.Node) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stateLocked(n.UID)
}

func (c *Controller) stateLocked(uid types.UID) *state {
	s := c.states[uid]
	if s == nil {
		s = &state{}
		c.states[uid] = s
	}
	return s
}

// forget ends all that is known of a Node that is gone, or somebody else's.
func (c *Controller) forget(node types.UID) {
	c.mu.Lock()
	delete(c.states, node)
	c.mu.Unlock()
	c.placer.Forget(node)
	c.checker.Drop(node)
	c.nodes.Deferred.Forget(node)
}
