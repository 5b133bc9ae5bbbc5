package model

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
)

// A Model is what a vCenter has reported since a watch began. It belongs to one goroutine.
type Model struct {
	vcenter string
	// instance is the vCenter's own UUID. Another one under the same name has
	// other machines under the same managed object IDs.
	instance string
	// Tree has the machines that are followed and what is above them.
	Tree  *Tree
	index map[string]entry // by managed object ID
	// unknown are the machines in index that never had a UUID, and when they were
	// first seen.
	unknown map[string]inventory.FirstSeen
	// recorded are those of them that Nodes name as the machines they were found as.
	recorded map[string]inventory.Entry
	tags     tags.Attachments
	// tagged is to what the tags of regions and zones are attached.
	tagged []topology.Tagged
	// complete reports whether the index has come in whole: what comes from then on
	// has just arrived.
	complete bool
	// before is what the watch before had at its end; nil once this one is
	// complete.
	before *Model

	// byUUID and unread, which is what of unknown concerns every Node, are shared with
	// snapshots and made again when the index has changed.
	byUUID map[inventory.UUID][]inventory.Entry
	unread map[string]inventory.FirstSeen
	// lost has the UUIDs of Nodes that were in the index, with when they were first not there any
	// more, zero for those that are.
	lost map[inventory.UUID]time.Time
	// pictured is what the last snapshot has, which is not changed any more.
	pictured pictured
}

// New returns an empty model of a vCenter. Before is that of the watch before, nil if
// there is none: what was known then of machines whose configuration cannot be read now
// still counts, unless it was another vCenter.
func New(vcenter string, about types.ServiceContent, before *Model) *Model {
	instance := about.About.InstanceUuid
	if before != nil && before.instance != instance {
		before = nil
	}
	m := &Model{
		vcenter: vcenter, instance: instance, Tree: NewTree(about.RootFolder),
		index: map[string]entry{}, unknown: map[string]inventory.FirstSeen{},
		before: before, lost: map[inventory.UUID]time.Time{},
	}
	if before != nil {
		m.Tree.earlier = before.Tree.metadataRead()
	}
	return m
}

// Complete notes that the index has come in whole, with all machines of the vCenter.
func (m *Model) Complete() { m.complete, m.before = true, nil }

// ApplyIndex applies a change of a machine in the index, as a filter reports it.
func (m *Model) ApplyIndex(filter string, u *types.ObjectUpdate) {
	id := u.Obj.Value
	m.byUUID = nil
	if u.Kind == types.ObjectUpdateKindLeave {
		if m.index[id].filter != filter {
			return
		}
		delete(m.index, id)
		delete(m.unknown, id)
		return
	}
	now, known := m.index[id]
	if !known && m.before != nil {
		now = m.before.index[id].earlier()
	}
	now.filter = filter
	now.apply(u.ChangeSet)
	m.index[id] = now
	if !now.uuid.IsZero() {
		delete(m.unknown, id)
	} else if _, ok := m.unknown[id]; !ok {
		m.unknown[id] = m.firstSeen(id)
	}
}

// firstSeen returns when a machine without a UUID was first seen.
func (m *Model) firstSeen(id string) inventory.FirstSeen {
	if m.before != nil {
		if first, ok := m.before.unknown[id]; ok {
			return first
		}
	}
	return inventory.FirstSeen{At: time.Now(), Arrived: m.complete}
}

// ApplySummaries applies the UUIDs that the summaries of followed machines without one
// show, and reports whether there are any.
func (m *Model) ApplySummaries() bool {
	found := false
	for id := range m.unknown {
		value := m.Tree.objects[MachineRef(id)].string(SummaryUUID)
		if value == "" {
			continue
		}
		e := m.index[id]
		if e.apply([]types.PropertyChange{{Name: SummaryUUID, Val: value}}); e.uuid.IsZero() {
			continue
		}
		m.index[id] = e
		delete(m.unknown, id)
		m.byUUID, found = nil, true
	}
	return found
}

// SetRecorded sets which machines Nodes name as those they were found as, by
// managed object ID, and reports whether that changes anything for machines without a UUID.
func (m *Model) SetRecorded(all map[string][]inventory.UUID) bool {
	var recorded map[string]inventory.Entry
	for id := range m.unknown {
		if _, ok := all[id]; !ok {
			continue
		}
		if recorded == nil {
			recorded = map[string]inventory.Entry{}
		}
		recorded[id] = m.Entry(id)
	}
	if maps.Equal(recorded, m.recorded) {
		return false
	}
	m.recorded = recorded
	return true
}

// SetTags sets the tags of objects and to what those of regions and zones are
// attached, and reports whether they have changed.
func (m *Model) SetTags(attached tags.Attachments, tagged []topology.Tagged) bool {
	same := slices.EqualFunc(tagged, m.tagged, func(a, b topology.Tagged) bool { return reflect.DeepEqual(a, b) })
	if same && attached.Equal(m.tags) {
		return false // the values stay that snapshots have: errors are the same by their texts only
	}
	m.tags, m.tagged = attached, tagged
	return true
}

// TagsSettled reports whether the tags of these objects were read, or could not be read.
func (m *Model) TagsSettled(refs []types.ManagedObjectReference) bool {
	return m.tags.Err != nil || m.tags.Covers(refs)
}

// TagObjects returns of how many objects the tags are known.
func (m *Model) TagObjects() int { return m.tags.Len() }

// Instance returns the vCenter's own UUID.
func (m *Model) Instance() string { return m.instance }

// Len returns how many machines are in the index.
func (m *Model) Len() int { return len(m.index) }

// Has reports whether a machine is in the index.
func (m *Model) Has(id string) bool {
	_, ok := m.index[id]
	return ok
}

// IsIndexed reports whether the indexes of snapshots have a machine, by its UUID.
func (m *Model) IsIndexed(id string) bool { return !m.index[id].uuid.IsZero() }

// Entry returns what snapshots have of a machine in the index.
func (m *Model) Entry(id string) inventory.Entry { return m.index[id].public(id) }

// ByUUID returns the index by UUID, with the entries of one UUID in order: the UUIDs that
// were read here, by this watch or one before it.
func (m *Model) ByUUID() map[inventory.UUID][]inventory.Entry {
	if m.byUUID != nil {
		return m.byUUID
	}
	m.byUUID = make(map[inventory.UUID][]inventory.Entry, len(m.index))
	for id, e := range m.index {
		if m.IsIndexed(id) {
			m.byUUID[e.uuid] = append(m.byUUID[e.uuid], m.Entry(id))
		}
	}
	m.unread = nil
	for id, first := range m.unknown {
		if m.unread == nil {
			m.unread = map[string]inventory.FirstSeen{}
		}
		m.unread[id] = first
	}
	for _, entries := range m.byUUID {
		if len(entries) > 1 {
			slices.SortFunc(entries, func(a, b inventory.Entry) int { return strings.Compare(a.ID, b.ID) })
		}
	}
	return m.byUUID
}
