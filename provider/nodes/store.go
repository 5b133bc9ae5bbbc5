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

// A Store contains the state of each Node: one record, under one lock. Only Nodes in the informer have records.
type Store struct {
	cache  *framework.Cache
	placer *placement.Placer

	// Mutex is held for a whole decision, from the first look-up to the reservation, and never across I/O.
	sync.Mutex
	records map[types.UID]*nodeRecord
}

// NewStore returns an empty store.
func NewStore(fleet placement.Fleet, cfg *config.Config, opts placement.Options) *Store {
	s := &Store{records: map[types.UID]*nodeRecord{}}
	s.cache = framework.NewCache(func(n *v1.Node) bool { return s.placer.IsForeign(n) })
	s.placer = placement.New(fleet, s.cache, s, cfg, opts)
	return s
}

// Cache returns the cache of Nodes.
func (s *Store) Cache() *framework.Cache { return s.cache }

// Placer returns the placer of the Nodes.
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

// record returns the record of a Node. The caller holds the lock. A deleted Node gets a record outside the store.
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

func (s *Store) forget(node types.UID) {
	s.Lock()
	defer s.Unlock()
	delete(s.records, node)
}

// phase is the phase of a Node after its last sync.
type phase int

const (
	// undecided: the Node was never synced.
	undecided phase = iota
	waiting
	announced
	running
)

func phaseOf(n *v1.Node, r *nodeRecord) phase {
	switch {
	case !nodeinfo.IsUninitialized(n):
		return running
	case r.metadata != nil:
		return announced
	}
	return waiting
}

// nodeRecord is the state of one Node. The deciding goroutine owns the first part.
type nodeRecord struct {
	// decision is the last decision, or nil. machine is its VM, nil if every change of the fleet requeues the Node.
	decision *placement.Decision
	machine  *inventory.Machine
	// metadata is the data of the last announcement, at announcedAt. Both are zero unless the Node is announced.
	metadata    *cloudprovider.InstanceMetadata
	announcedAt time.Time
	problems    map[string]*report.Tracker
	// isEventPending means that an Event of the last sync waits for a slot.
	isEventPending bool
	// lastAddresses are the addresses at the last sync since the initialization, or nil.
	lastAddresses []v1.NodeAddress
	// isShared means that the Node shares its VM or address with another Node, so a change of any Node may affect it.
	isShared bool
	labels   labelState

	// The store's lock guards the fields below.

	memory  placement.Memory
	answers framework.Answers
	// node is the Node at the last sync, or nil.
	node      *v1.Node
	phase     phase
	stats     nodeStats
	eventSlot slot
	// isAbsent means that no snapshot has the VM, so that a search has to confirm its absence.
	isAbsent   bool
	isPatching bool
	// annotationPatches are for the location, labelPatches for labels and taints, conditionPatches for TopologyReady.
	annotationPatches, labelPatches, conditionPatches patches
	// initializedAt is the time when the framework initialized the Node, zero if that was not observed.
	initializedAt time.Time
}

// nodeStats is a Node's contribution to the metrics.
type nodeStats struct {
	// outcome and keptReason are metric labels. keptReason is the reason why a Node without a VM is not deleted, or "".
	outcome, keptReason string
	drifting, resized   bool
	conflicts           []topology.Conflict
}

func (c *Controller) enqueueLocked(uid types.UID) {
	if r := c.store.records[uid]; r != nil && r.node != nil {
		c.queue.Add(item{name: r.node.Name, uid: uid})
	}
}
