package nodes

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

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
	// place is where an initialized Node is, and placeErr why that is not known.
	place    placement.Place
	placeErr error
	// problems are what is wrong with the Node, by what that is about.
	problems map[string]*problem
	// event is when an Event may be recorded, and eventWaits whether one waits for that.
	event      reservation
	eventWaits bool
	// addresses are those that the Node had when it was looked at last, nil if it was not since it
	// is initialized.
	addresses []v1.NodeAddress
	// shared reports whether another Node has the machine too, or an address that the Node
	// would get: then a change of any Node may concern this one.
	shared bool
	// later reports whether another Node with the machine of an initialized one was
	// before it.
	later bool
	// absent reports whether the machine is absent, which is being confirmed.
	absent bool
	// outcome is what was decided, and kept why the Node is not deleted although its machine is not
	// found, empty if it is not kept; by their names in metrics.
	outcome, kept string
	// labels belong to the goroutine that decides, but for what others read, which is changed under
	// the lock: the drifts, the instance type and the conflicts.
	labels labelState

	// What follows is changed under the lock.

	// writing reports whether a request to the API server is under way: there is one at a time.
	writing bool
	// annotation are the patches of where the machine is, so that a restart does not forget it,
	// labelPatches those of labels and taints, and ready those of the condition keys.TopologyReady.
	annotation, labelPatches, ready patches
	// initialized is when the framework initialized it, zero if that was not seen.
	initialized time.Time
}

// vcenter returns the vCenter that the last sync found the Node's machine in, empty if none.
func (s *state) vcenter() string {
	if s.machine == nil {
		return ""
	}
	return s.machine.Ref.VCenter
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
}
