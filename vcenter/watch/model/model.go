package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

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
	// complete reports whether the index has come in whole: what comes from then on
	// has just arrived.
	complete bool
	// before is what the watch before had at its end; nil once this one is
	// complete.
	before *Model

	// byUUID, recent and unread are shared with snapshots, as Index, Recent and Unreadable, and never
	// changed. byUUID is nil until it is first wanted, unread when unknown has changed.
	byUUID, recent map[inventory.UUID][]inventory.Entry
	unread         map[string]inventory.FirstSeen
	// touched are the machines that changed since recent was made, by each UUID that they had or have.
	touched map[inventory.UUID][]string
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
	now, known := m.index[id]
	if u.Kind == types.ObjectUpdateKindLeave {
		if now.filter != filter {
			return
		}
		m.touch(id, now.uuid)
		delete(m.index, id)
		m.unknowns(id, false)
		return
	}
	if !known && m.before != nil {
		now = m.before.index[id].earlier()
	}
	now.filter = filter
	m.touch(id, now.uuid)
	now.apply(u.ChangeSet)
	m.touch(id, now.uuid)
	m.index[id] = now
	m.unknowns(id, now.uuid.IsZero())
}

// Forget removes a machine that is gone though no change says so.
func (m *Model) Forget(id string) {
	ref := MachineRef(id)
	m.ApplyIndex(m.index[id].filter, &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
	m.Tree.Remove(ref)
}

// touch notes that the entry of a machine with a UUID changes.
func (m *Model) touch(id string, u inventory.UUID) {
	if m.byUUID != nil && !u.IsZero() && !slices.Contains(m.touched[u], id) {
		m.touched[u] = append(m.touched[u], id)
	}
}

// unknowns notes whether nothing tells the UUID of a machine.
func (m *Model) unknowns(id string, is bool) {
	switch _, was := m.unknown[id]; {
	case is && !was:
		m.unknown[id], m.unread = m.firstSeen(id), nil
	case was && !is:
		delete(m.unknown, id)
		m.unread = nil
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
		m.touch(id, e.uuid)
		m.unknowns(id, false)
		found = true
	}
	return found
}

// SetRecorded sets which machines Nodes name as those they were found as, by
// managed object ID, and reports whether that changes anything for machines without a UUID.
func (m *Model) SetRecorded(all map[string]bool) bool {
	var recorded map[string]inventory.Entry
	for id := range m.unknown {
		if !all[id] {
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

// SetTags sets the tags of objects, and reports whether they have changed.
func (m *Model) SetTags(attached tags.Attachments) bool {
	if attached.Equal(m.tags) {
		return false // the values stay that snapshots have: errors are the same by their texts only
	}
	m.tags = attached
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

// recentMax bounds recent: at more, or at an eighth of all UUIDs, byUUID is made again.
const recentMax = 1000

// Entries returns the machines with a UUID in order of their IDs: a UUID that was read here, by this watch or
// one before it.
func (m *Model) Entries(u inventory.UUID) []inventory.Entry {
	m.refreshIndex()
	if changed, ok := m.recent[u]; ok {
		return changed
	}
	return m.byUUID[u]
}

// refreshIndex has byUUID and recent follow the index.
func (m *Model) refreshIndex() {
	if m.byUUID != nil && len(m.touched) == 0 {
		return
	}
	if m.byUUID == nil || len(m.recent)+len(m.touched) > recentMax+len(m.byUUID)/8 {
		m.byUUID = make(map[inventory.UUID][]inventory.Entry, len(m.index))
		m.recent, m.touched = nil, map[inventory.UUID][]string{}
		for id, e := range m.index {
			if !e.uuid.IsZero() {
				m.byUUID[e.uuid] = append(m.byUUID[e.uuid], e.public(id))
			}
		}
		for _, entries := range m.byUUID {
			slices.SortFunc(entries, byID)
		}
		return
	}
	recent := make(map[inventory.UUID][]inventory.Entry, len(m.recent)+len(m.touched))
	maps.Copy(recent, m.recent)
	for u, ids := range m.touched {
		before, ok := recent[u]
		if !ok {
			before = m.byUUID[u]
		}
		now := slices.DeleteFunc(slices.Clone(before), func(e inventory.Entry) bool { return slices.Contains(ids, e.ID) })
		for _, id := range ids {
			if e := m.index[id]; e.uuid == u {
				now = append(now, e.public(id))
			}
		}
		slices.SortFunc(now, byID)
		recent[u] = now
	}
	m.recent = recent
	clear(m.touched)
}

func byID(a, b inventory.Entry) int { return strings.Compare(a.ID, b.ID) }

// unreadable returns the machines whose UUID nothing tells, as snapshots have them.
func (m *Model) unreadable() map[string]inventory.FirstSeen {
	if m.unread == nil && len(m.unknown) > 0 {
		m.unread = maps.Clone(m.unknown)
	}
	return m.unread
}
