package nodes

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/config"
	"vzones/provider/framework"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A Store contains one record of each Node in the informer, under one lock.
type Store struct {
	cache  *framework.Cache
	placer *placement.Placer

	// Mutex is held for a whole decision, from the first look-up to the reservation, and never across I/O.
	sync.Mutex
	records map[types.UID]*nodeRecord
	// queue is nil before the controller runs.
	queue workqueue.TypedDelayingInterface[item]
}

// NewStore returns an empty store.
func NewStore(fleet placement.Fleet, cfg *config.Config, opts placement.Options) *Store {
	s := &Store{records: map[types.UID]*nodeRecord{}}
	s.cache = framework.NewCache(func(n *v1.Node) bool { return s.placer.IsForeign(n) })
	s.placer = placement.New(fleet, s.cache, s, cfg, opts)
	return s
}

// Cache returns the Nodes.
func (s *Store) Cache() *framework.Cache { return s.cache }

// Placer returns the placer.
func (s *Store) Placer() *placement.Placer { return s.placer }

// Memory implements placement.Memories.
func (s *Store) Memory(n *v1.Node) *placement.Memory { return &s.record(n).memory }

// ExistingMemory implements placement.Memories.
func (s *Store) ExistingMemory(node types.UID) *placement.Memory {
	if r := s.records[node]; r != nil {
		return &r.memory
	}
	return nil
}

// AnswersAbout implements framework.AnswerStore.
func (s *Store) AnswersAbout(n *v1.Node) *framework.Answers { return &s.record(n).answers }

// Requeue implements framework.AnswerStore. The delay bounds the rate if the framework rejects a Node again and again.
func (s *Store) Requeue(n *v1.Node) {
	s.Lock()
	defer s.Unlock()
	if s.queue != nil {
		s.queue.AddAfter(itemOf(n), gatherDelay)
	}
}

// record requires the lock. For a deleted Node, it returns a record that is not stored.
func (s *Store) record(n *v1.Node) *nodeRecord {
	r := s.records[n.UID]
	if r == nil {
		r = &nodeRecord{}
		if s.cache.Has(n) {
			s.records[n.UID] = r
		}
	}
	return r
}

// undecidedRecord returns a record without the decision that was made before another provider initialized the Node.
func (s *Store) undecidedRecord(n *v1.Node) *nodeRecord {
	s.Lock()
	defer s.Unlock()
	if r := s.record(n); r.decision == nil {
		return r
	}
	delete(s.records, n.UID)
	return s.record(n)
}

func (s *Store) forget(node types.UID) {
	s.Lock()
	defer s.Unlock()
	delete(s.records, node)
}

type phase int

const (
	// undecided: the Node was never synced.
	undecided phase = iota
	waiting
	announced
	initialized
)

func phaseOf(n *v1.Node, r *nodeRecord) phase {
	switch {
	case !nodeinfo.IsUninitialized(n):
		return initialized
	case r.metadata != nil:
		return announced
	}
	return waiting
}

// nodeRecord is the state of one Node. Only the goroutine that syncs the Nodes uses the fields before memory.
type nodeRecord struct {
	// decision is the last decision, or nil. vm is its VM, or nil if the decision has an error. While vm is nil, every
	// change of a vCenter requeues the Node.
	decision *placement.Decision
	vm       *inventory.VM
	// metadata is nil unless the Node is announced, last at announcedAt.
	metadata       *cloudprovider.InstanceMetadata
	announcedAt    time.Time
	problems       map[string]*report.Tracker
	isEventPending bool
	// lastAddresses are the Node's addresses at the last sync, or nil before the first sync of an initialized Node.
	lastAddresses []v1.NodeAddress
	// isShared means that another Node has the VM or an address, so a change of any Node may affect this Node.
	isShared bool
	labels   labelState
	// partition is the problem of the Node's zone, or zero.
	partition report.Problem

	// The store's lock guards the fields below.

	memory    placement.Memory
	answers   framework.Answers
	node      *v1.Node
	phase     phase
	stats     nodeStats
	eventSlot slot
	// isAbsent is placement.Absence.IsAbsent of the last check.
	isAbsent      bool
	isPatching    bool
	initializedAt time.Time

	annotationPatches, labelPatches, conditionPatches, taintPatches patchState
}

type nodeStats struct {
	// outcome and keptReason are metric labels. keptReason is "" unless the Node is kept although its VM is absent.
	outcome, keptReason string
	drifting, resized   bool
	conflicts           []topology.Conflict
}

func (c *Controller) enqueueLocked(uid types.UID) {
	if r := c.store.records[uid]; r != nil && r.node != nil {
		c.queue.Add(item{name: r.node.Name, uid: uid})
	}
}
