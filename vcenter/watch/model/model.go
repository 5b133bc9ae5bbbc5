package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/faults"
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
	Tree *Tree
	// index has the machines by managed object ID.
	index map[string]entry
	// unknown are the machines in index that never had a UUID, and when they were
	// first seen.
	unknown map[string]inventory.FirstSeen
	// annotated are those of them that Nodes name as the machines they were found as.
	annotated map[string]inventory.Entry
	tags      tags.Attachments
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
	// touched are the machines that changed since recent was made, by each UUID that they had or have, and
	// touches their number.
	touched map[inventory.UUID][]string
	touches int
	// lost has the UUIDs of Nodes that were in the index, with when they were first not there any
	// more, zero for those that are.
	lost map[inventory.UUID]time.Time
	// previous is what the last snapshot has, which is not changed any more.
	previous previousSnapshot
}

// New returns an empty model of a vCenter. Before is that of the watch before, nil if
// there is none: what was known then of machines whose configuration cannot be read now
// still counts, unless it was another vCenter.
func New(vcenter string, about types.ServiceContent, before *Model) *Model {
	instance := about.About.InstanceUuid
	if before != nil && before.instance != instance {
		before = nil
	}
	return &Model{
		vcenter: vcenter, instance: instance, Tree: NewTree(about.RootFolder),
		index: map[string]entry{}, unknown: map[string]inventory.FirstSeen{},
		annotated: map[string]inventory.Entry{}, before: before, lost: map[inventory.UUID]time.Time{},
	}
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
		m.setUnknown(id, false)
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
	m.setUnknown(id, now.uuid.IsZero())
}

// Forget removes a machine that is gone though no change says so.
func (m *Model) Forget(id string) {
	ref := MachineRef(id)
	m.ApplyIndex(m.index[id].filter, &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
	m.Tree.Remove(ref)
}

// touch notes that the entry of a machine with a UUID changes. After many changes byUUID is forgotten and made
// again when it is next wanted: the pages of one change need not end.
func (m *Model) touch(id string, u inventory.UUID) {
	if m.byUUID == nil || u.IsZero() || slices.Contains(m.touched[u], id) {
		return
	}
	if m.touches++; m.touches > m.mostRecent() {
		m.byUUID = nil
		m.recent = nil
		m.touched = nil
		m.touches = 0
		return
	}
	m.touched[u] = append(m.touched[u], id)
}

// mostRecent bounds recent and touches.
func (m *Model) mostRecent() int { return recentMax + len(m.byUUID)/8 }

// setUnknown records whether the UUID of a machine was never known.
func (m *Model) setUnknown(id string, isUnknown bool) {
	_, wasUnknown := m.unknown[id]
	if isUnknown == wasUnknown {
		return
	}
	if isUnknown {
		m.unknown[id] = m.firstSeen(id)
	} else {
		delete(m.unknown, id)
	}
	m.unread = nil
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
func (m *Model) ApplySummaries() (found bool) {
	for id := range m.unknown {
		uuid, err := inventory.ParseUUID(m.Tree.objects[MachineRef(id)].string(SummaryUUID))
		if err != nil {
			continue
		}
		e := m.index[id]
		e.uuid = uuid
		found = true
		m.index[id] = e
		m.touch(id, uuid)
		m.setUnknown(id, false)
	}
	return found
}

// SetAnnotated sets which machines Nodes name as those they were found as, by
// managed object ID, and reports whether that changes anything for machines without a UUID.
func (m *Model) SetAnnotated(all map[string]bool) bool {
	before := m.annotated
	m.annotated = map[string]inventory.Entry{}
	for id := range m.unknown {
		if all[id] {
			m.annotated[id] = m.Entry(id)
		}
	}
	return !maps.Equal(before, m.annotated)
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

// Err returns the bound that the vCenter exceeds, nil if it exceeds none.
func (m *Model) Err() error {
	if len(m.index) > faults.MaxVMs {
		return faults.ManyObjects
	}
	return m.Tree.Err()
}

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
	if m.byUUID == nil || len(m.recent)+len(m.touched) > m.mostRecent() {
		m.byUUID = make(map[inventory.UUID][]inventory.Entry, len(m.index))
		m.recent = nil
		m.touched = map[inventory.UUID][]string{}
		m.touches = 0
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
	m.touches = 0
}

func byID(a, b inventory.Entry) int { return strings.Compare(a.ID, b.ID) }

// unreadable returns the machines whose UUID nothing tells, as snapshots have them.
func (m *Model) unreadable() map[string]inventory.FirstSeen {
	if m.unread == nil && len(m.unknown) > 0 {
		m.unread = maps.Clone(m.unknown)
	}
	return m.unread
}

// SummaryUUID is read only of machines that are followed: a machine without a UUID is
// followed for its name, and its summary may show the UUID. Of all machines it would
// cost a tenth more, to no end for those whose configuration can be read.
const SummaryUUID = "summary.config.uuid"

// IndexProperties are what is read of every machine: nothing that changes while a machine is used, so that
// what others do with theirs causes no work.
var IndexProperties = []string{"config.uuid", "config.template"}

// entry is all that is kept of a machine that is not followed.
type entry struct {
	// uuid is zero if it was never known. It stays when the configuration can no longer be read,
	// and readable is false then; where that never could, it is the one of the machine's summary.
	uuid inventory.UUID
	// filter is the one that reported the machine last. A machine that moves from
	// one configured datacenter to another may be reported by the second before the
	// first reports that it has left.
	filter   string
	readable bool
	template bool
	// secondary reports whether the machine was the secondary of a Fault Tolerance pair when its
	// details could last be read.
	secondary bool
}

// apply applies changes of the machine's properties.
func (e *entry) apply(changes []types.PropertyChange) {
	for _, change := range changes {
		switch change.Name {
		case "config.uuid":
			text, _ := change.Val.(string)
			uuid, err := inventory.ParseUUID(text)
			if e.readable = err == nil; e.readable {
				e.uuid = uuid
			}
		case "config.template":
			if template, known := change.Val.(bool); known {
				e.template = template
			}
		}
	}
}

// earlier is what remains of an entry when another watch begins: its configuration may
// not be readable then.
func (e entry) earlier() entry {
	return entry{uuid: e.uuid, template: e.template, secondary: e.secondary}
}

func (e entry) public(id string) inventory.Entry {
	return inventory.Entry{ID: id, Template: e.template, Unreadable: !e.readable}
}

const (
	// namedMax bounds how many machines without a UUID are followed, so that they
	// can be named by their inventory paths.
	namedMax = 10
	// namedAfter is for how long a machine that has come may be without a UUID before
	// it is followed for that. Most are clones, which have one after some seconds.
	namedAfter = 20 * time.Second
	// lostFor is how long they are followed at once after a Node's machine was gone: one may be
	// that machine, which was registered again.
	lostFor = time.Hour
)

// Wanted returns the managed object IDs of the machines whose details are wanted, in
// order: those with one of the UUIDs, the further ones, a few of those whose UUID nothing
// tells, and the ones of these that Nodes name.
func (m *Model) Wanted(uuids map[inventory.UUID]bool, further []string) []string {
	ids := slices.Clone(further)
	for u := range uuids {
		for _, e := range m.Entries(u) {
			if !e.Template {
				ids = append(ids, e.ID)
			}
		}
	}
	ids = append(ids, m.toName(m.haveLost(uuids))...)
	ids = slices.AppendSeq(ids, maps.Keys(m.annotated))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// haveLost reports whether one of the UUIDs was in the index in the last hour, and is not now.
func (m *Model) haveLost(uuids map[inventory.UUID]bool) (lost bool) {
	maps.DeleteFunc(m.lost, func(u inventory.UUID, _ time.Time) bool { return !uuids[u] })
	for u := range uuids {
		at, known := m.lost[u]
		shown := len(m.Entries(u)) > 0
		switch {
		case shown && (!known || !at.IsZero()):
			m.lost[u] = time.Time{}
		case shown || !known:
		case at.IsZero():
			m.lost[u] = time.Now()
			lost = true
		case time.Since(at) < lostFor:
			lost = true
		}
	}
	return lost
}

// toName returns the machines without a UUID that are followed for their names, in
// order. Lost reports whether those that have just come are, and before all others.
func (m *Model) toName(lost bool) []string {
	var some []string
	for _, id := range slices.SortedFunc(maps.Keys(m.unknown), func(a, b string) int {
		if newer := m.unknown[b].At.Compare(m.unknown[a].At); lost && newer != 0 {
			return newer
		}
		return strings.Compare(a, b)
	}) {
		if first := m.unknown[id]; len(some) < namedMax && (lost || !first.Arrived || time.Since(first.At) >= namedAfter) {
			some = append(some, id)
		}
	}
	return some
}

// Eligible returns those of the followed machines that may be Nodes', and are not
// followed for their names alone.
func (m *Model) Eligible(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, unknown := m.unknown[id]
		_, annotated := m.annotated[id]
		return unknown && !annotated
	})
}

// HasDetails reports whether the details of a machine are there.
func (m *Model) HasDetails(id string) bool { return m.Tree.objects[MachineRef(id)] != nil }

// UUID returns the UUID in the details of a machine, zero if there is none.
func (m *Model) UUID(id string) inventory.UUID {
	u, err := inventory.ParseUUID(m.Tree.objects[MachineRef(id)].string("config.uuid"))
	if err != nil {
		return inventory.UUID{}
	}
	return u
}

// Above returns the machines and everything above them on these paths, or on all if
// there are none, in order.
func (m *Model) Above(ids []string, paths []topology.PathKind) []types.ManagedObjectReference {
	seen := map[types.ManagedObjectReference]bool{}
	for _, id := range ids {
		for _, start := range m.Tree.starts(MachineRef(id)) {
			if len(paths) > 0 && !slices.Contains(paths, start.kind) {
				continue
			}
			m.Tree.addUpTo(seen, start.ref)
		}
	}
	refs := make([]types.ManagedObjectReference, 0, len(seen))
	for ref := range seen {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
		return strings.Compare(a.Type+a.Value, b.Type+b.Value)
	})
	return refs
}
