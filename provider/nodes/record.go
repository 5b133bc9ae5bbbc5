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

// record has all that the controller knows of one Node. The goroutine that decides owns it. The fields at
// the end are changed under the controller's lock.
type record struct {
	// node and decision are from the last sync, nil before it. The machine is the decision's, nil if
	// the Node has to be decided about whenever something changes.
	node     *v1.Node
	decision *placement.Decision
	machine  *inventory.Machine
	// announced is the metadata with which the Node was last announced to the framework, and
	// announcedAt the time. Both are zero once the Node is initialized.
	announced   *cloudprovider.InstanceMetadata
	announcedAt time.Time
	// problems are the Node's, by their subject.
	problems map[string]*report.Tracker
	// event is the Node's turn to record an Event. eventWaits reports whether an Event waits for that turn.
	event      turn
	eventWaits bool
	// addresses are the Node's at the last sync, nil before the first one after its initialization.
	addresses []v1.NodeAddress
	// shared reports whether another Node has the machine, or an address that this Node would get. Then
	// a change of any Node may concern this one.
	shared bool
	labels labelState

	// What follows is changed under the lock.

	counted counted
	// absent reports whether the machine is absent by all snapshots, so that a search has to confirm it.
	absent bool
	// writing reports whether a request to the API server is under way: there is one at a time.
	writing bool
	// annotation, labelPatches and condition are the patches of the machine's location, of labels and
	// taints, and of the condition.
	annotation, labelPatches, condition patches
	// initialized is when the framework initialized it, zero if that was not seen.
	initialized time.Time
}

// counted has a Node's share in the metrics.
type counted struct {
	// outcome and kept are values of metrics' labels. Kept is the reason why the Node is not deleted
	// although its machine is not found, empty if there is none.
	outcome, kept string
	// drifting and resized report whether labels and the instance type differ.
	drifting, resized bool
	// conflicts concern the Node.
	conflicts []topology.Conflict
}

// recordLocked returns the record of a Node.
func (c *Controller) recordLocked(uid types.UID) *record {
	r := c.records[uid]
	if r == nil {
		r = &record{}
		c.records[uid] = r
	}
	return r
}

// forget drops all state of a Node that is gone or not ours.
func (c *Controller) forget(node types.UID) {
	c.mu.Lock()
	delete(c.records, node)
	c.mu.Unlock()
	c.placer.Forget(node)
	c.checker.Forget(node)
}

// enqueueLocked enqueues a Node by its UID.
func (c *Controller) enqueueLocked(uid types.UID) {
	if r := c.records[uid]; r != nil && r.node != nil {
		c.queue.Add(item{name: r.node.Name, uid: uid})
	}
}
