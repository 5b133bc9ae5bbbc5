package nodes

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// record is what is known of one Node. It belongs to the goroutine that decides, but for what is
// changed under the controller's lock.
type record struct {
	// node and decision are those of the last sync, nil before. The machine is nil if the Node has
	// to be decided about whenever something changes.
	node     *v1.Node
	decision *placement.Decision
	machine  *inventory.Machine
	// vcenter is that in which the machine was found last, for the log, empty if it never was.
	vcenter string
	// announced is what the framework was last announced that the Node can be initialized
	// with, and announcedAt when that was, zero if it has initialized the Node.
	announced   *cloudprovider.InstanceMetadata
	announcedAt time.Time
	// problems are what is wrong with the Node, by what that is about.
	problems map[string]*report.Tracker
	// event is when an Event may be recorded, and eventWaits whether one waits for that.
	event      turn
	eventWaits bool
	// addresses are those that the Node had when it was looked at last, nil if it was not since it
	// is initialized.
	addresses []v1.NodeAddress
	// shared reports whether another Node has the machine too, or an address that the Node
	// would get: then a change of any Node may concern this one.
	shared bool
	labels labelState

	// What follows is changed under the lock.

	counted counted
	// absent reports whether the machine is absent by all snapshots, which is being confirmed.
	absent bool
	// writing reports whether a request to the API server is under way: there is one at a time.
	writing bool
	// annotation are the patches of where the machine is, so that a restart does not forget it,
	// labelPatches those of labels and taints, and ready those of the condition keys.TopologyReady.
	annotation, labelPatches, ready patches
	// initialized is when the framework initialized it, zero if that was not seen.
	initialized time.Time
}

// counted is what metrics count of a Node.
type counted struct {
	// outcome is what was decided, and kept why the Node is not deleted although its machine is not
	// found, empty if it is not kept; by their names in metrics.
	outcome, kept string
	// drifting and resized report whether labels and the instance type differ.
	drifting, resized bool
	// conflicts are those that concern the Node.
	conflicts []topology.Conflict
}

// recordOf returns the record of a Node.
func (c *Controller) recordOf(n *v1.Node) *record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recordLocked(n.UID)
}

func (c *Controller) recordLocked(uid types.UID) *record {
	r := c.records[uid]
	if r == nil {
		r = &record{}
		c.records[uid] = r
	}
	return r
}

// forget ends all that is known of a Node that is gone, or somebody else's.
func (c *Controller) forget(node types.UID) {
	c.mu.Lock()
	delete(c.records, node)
	c.mu.Unlock()
	c.placer.Forget(node)
	c.checker.Forget(node)
}

// enqueueLocked has a Node decided about, by its UID.
func (c *Controller) enqueueLocked(uid types.UID) {
	if r := c.records[uid]; r != nil && r.node != nil {
		c.queue.Add(item{name: r.node.Name, uid: uid})
	}
}
