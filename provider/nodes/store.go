package nodes

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/config"
	"vzones/provider/framework"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A Store contains the state of each Node: one record, under one lock. A record is created only while the informer has the
// Node, and one delete removes it.
type Store struct {
	cache  *framework.Cache
	placer *placement.Placer

	// Mutex is held during a whole decision about a Node, from the first look-up until the reservation, and never across I/O.
	sync.Mutex
	records map[types.UID]*record
}

// NewStore returns an empty store, with a placer that decides by it.
func NewStore(fleet placement.Fleet, cfg *config.Config, opts placement.Options) *Store {
	s := &Store{records: map[types.UID]*record{}}
	s.cache = framework.NewCache(func(n *v1.Node) bool { return s.placer.IsForeign(n) })
	s.placer = placement.New(fleet, s.cache, s, cfg, opts)
	return s
}

// Cache returns the cache of Nodes, which hides those that are foreign from the framework.
func (s *Store) Cache() *framework.Cache { return s.cache }

// Placer returns what decides about Nodes.
func (s *Store) Placer() *placement.Placer { return s.placer }

// Of implements placement.Memories.
func (s *Store) Of(n *v1.Node) *placement.Memory { return &s.record(n).memory }

// Kept implements placement.Memories.
func (s *Store) Kept(node types.UID) *placement.Memory {
	if r := s.records[node]; r != nil {
		return &r.memory
	}
	return nil
}

// AnswersAbout implements framework.AnswerStore.
func (s *Store) AnswersAbout(n *v1.Node) *framework.Answers { return &s.record(n).answers }

// record returns the record of a Node, with the lock held. For a deleted Node it returns a new record that is not kept.
func (s *Store) record(n *v1.Node) *record {
	r := s.records[n.UID]
	if r == nil {
		r = &record{}
		if s.cache.Has(n) {
			s.records[n.UID] = r
		}
	}
	return r
}

// forget drops all that is known of a Node that is gone or not ours.
func (s *Store) forget(node types.UID) {
	s.Lock()
	defer s.Unlock()
	delete(s.records, node)
}

// phase is the phase of a Node at its last sync.
type phase int

const (
	// undecided: nothing was decided about the Node.
	undecided phase = iota
	// waiting: it has the framework's taint and cannot be initialized.
	waiting
	// announced: the framework was told that it can be initialized.
	announced
	// running: it is initialized.
	running
)

// phaseOf returns the phase of a Node after a sync.
func phaseOf(n *v1.Node, r *record) phase {
	switch {
	case !nodeinfo.IsUninitialized(n):
		return running
	case r.metadata != nil:
		return announced
	}
	return waiting
}

// record has all that this process knows of one Node. The goroutine that decides owns the fields of its syncs. The
// fields at the end are changed under the store's lock, and other goroutines read them under it.
type record struct {
	// decision is from the last sync, nil before it. The machine is the decision's, nil if
	// the Node has to be decided about whenever something changes.
	decision *placement.Decision
	machine  *inventory.Machine
	// metadata is that with which the Node was last announced to the framework, and announcedAt the time. Both are zero
	// unless the Node is announced.
	metadata    *cloudprovider.InstanceMetadata
	announcedAt time.Time
	// problems are the Node's, by their subject.
	problems map[string]*report.Tracker
	// eventWaits reports whether the last sync left an Event that waits for a slot.
	eventWaits bool
	// addresses are the Node's at the last sync, nil before the first one after its initialization.
	addresses []v1.NodeAddress
	// shared reports whether another Node has the machine, or an address that this Node would get. Then
	// a change of any Node may concern this one.
	shared bool
	labels labelState

	// What follows is changed under the lock.

	// memory is what decisions about this Node and others remember of it.
	memory placement.Memory
	// answers are the last ones to the framework.
	answers framework.Answers
	// node is from the last sync, nil before it.
	node    *v1.Node
	phase   phase
	counted counted
	// event is the Node's slot at the limiter of Events.
	event slot
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

// enqueueLocked enqueues a Node by its UID.
func (c *Controller) enqueueLocked(uid types.UID) {
	if r := c.store.records[uid]; r != nil && r.node != nil {
		c.queue.Add(item{name: r.node.Name, uid: uid})
	}
}
