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

// A Model is the reported state of a vCenter. It is not safe for concurrent use.
type Model struct {
	vcenter string
	// vcenterUUID is the vCenter's UUID, within which managed object IDs are unique.
	vcenterUUID string
	// Tree contains the VMs watched in detail and their ancestors.
	Tree *Tree
	// index contains every VM in the configured datacenters, by managed object ID.
	index map[string]entry

	// withoutUUID contains the indexed VMs whose UUID was never known.
	withoutUUID map[string]inventory.FirstSeen
	// namedByNodes contains the VMs in withoutUUID that annotations of Nodes name.
	namedByNodes map[string]inventory.Entry
	tags         tags.Attachments
	complete     bool
	// previousModel is nil once the model is complete.
	previousModel *Model

	// Snapshots share byUUID, recent and withoutUUIDCopy, which are replaced, never changed. recent
	// overrides byUUID. byUUID and withoutUUIDCopy are nil while they have to be rebuilt.
	byUUID, recent  map[inventory.UUID][]inventory.Entry
	withoutUUIDCopy map[string]inventory.FirstSeen
	// touched contains the VMs that changed since recent was built, by each old and new UUID.
	touched    map[inventory.UUID][]string
	touchCount int
	// lostAt maps Nodes' UUIDs seen in the index to the time when they left it, zero if they have not.
	lostAt       map[inventory.UUID]time.Time
	lastSnapshot previousSnapshot
}

// New returns an empty model. If previous is of the same vCenter, its UUIDs remain valid for VMs
// whose configuration cannot be read now.
func New(vcenter string, about types.ServiceContent, previous *Model) *Model {
	instance := about.About.InstanceUuid
	if previous != nil && previous.vcenterUUID != instance {
		previous = nil
	}
	return &Model{
		vcenter: vcenter, vcenterUUID: instance, Tree: NewTree(about.RootFolder),
		index: map[string]entry{}, withoutUUID: map[string]inventory.FirstSeen{},
		namedByNodes: map[string]inventory.Entry{}, previousModel: previous, lostAt: map[inventory.UUID]time.Time{},
	}
}

// EndInitialRead ends the initial read of the index.
func (m *Model) EndInitialRead() { m.complete, m.previousModel = true, nil }

// ApplyIndex applies a filter's change to the index.
func (m *Model) ApplyIndex(filter string, u *types.ObjectUpdate) {
	id := u.Obj.Value
	updated, known := m.index[id]
	if u.Kind == types.ObjectUpdateKindLeave {
		if updated.lastFilter != filter {
			return
		}
		m.touch(id, updated.uuid)
		delete(m.index, id)
		m.setWithoutUUID(id, false)
		return
	}
	if !known && m.previousModel != nil {
		updated = m.previousModel.index[id].remembered()
	}
	updated.lastFilter = filter
	m.touch(id, updated.uuid)
	updated.apply(u.ChangeSet)
	m.touch(id, updated.uuid)
	m.index[id] = updated
	m.setWithoutUUID(id, updated.uuid.IsZero())
}

// Forget removes a VM that no filter has reported as gone.
func (m *Model) Forget(id string) {
	ref := VMRef(id)
	m.ApplyIndex(m.index[id].lastFilter, &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
	m.Tree.Remove(ref)
}

// touch records a change of the VM's entry. After many changes it drops byUUID instead, so that
// touched stays small even if an update has many pages.
func (m *Model) touch(id string, u inventory.UUID) {
	if m.byUUID == nil || u.IsZero() || slices.Contains(m.touched[u], id) {
		return
	}
	if m.touchCount++; m.touchCount > m.recentLimit() {
		m.byUUID = nil
		m.recent = nil
		m.touched = nil
		m.touchCount = 0
		return
	}
	m.touched[u] = append(m.touched[u], id)
}

func (m *Model) recentLimit() int { return recentBase + len(m.byUUID)/8 }

func (m *Model) setWithoutUUID(id string, isUUIDMissing bool) {
	_, wasUUIDMissing := m.withoutUUID[id]
	if isUUIDMissing == wasUUIDMissing {
		return
	}
	if isUUIDMissing {
		m.withoutUUID[id] = m.firstSeen(id)
	} else {
		delete(m.withoutUUID, id)
	}
	m.withoutUUIDCopy = nil
}

func (m *Model) firstSeen(id string) inventory.FirstSeen {
	if m.previousModel != nil {
		if first, ok := m.previousModel.withoutUUID[id]; ok {
			return first
		}
	}
	return inventory.FirstSeen{At: time.Now(), Arrived: m.complete}
}

// ApplySummaries takes missing UUIDs from summaries, and reports whether it found any.
func (m *Model) ApplySummaries() (found bool) {
	for id := range m.withoutUUID {
		uuid, err := inventory.ParseUUID(m.Tree.objects[VMRef(id)].string(SummaryUUID))
		if err != nil {
			continue
		}
		e := m.index[id]
		e.uuid = uuid
		found = true
		m.index[id] = e
		m.touch(id, uuid)
		m.setWithoutUUID(id, false)
	}
	return found
}

// SetNamedByNodes sets the managed object IDs that annotations of Nodes name, and reports whether anything has changed for VMs
// without a UUID.
func (m *Model) SetNamedByNodes(ids map[string]bool) bool {
	previous := m.namedByNodes
	m.namedByNodes = map[string]inventory.Entry{}
	for id := range m.withoutUUID {
		if ids[id] {
			m.namedByNodes[id] = m.Entry(id)
		}
	}
	return !maps.Equal(previous, m.namedByNodes)
}

// SetTags replaces the tags, and reports whether they have changed.
func (m *Model) SetTags(attached tags.Attachments) bool {
	if attached.Equal(m.tags) {
		// Keep the old value, which snapshots share. The new value may contain different error values with the same texts,
		// because Equal compares only the texts.
		return false
	}
	m.tags = attached
	return true
}

// TagsSettled reports whether a read of these objects' tags has succeeded or failed.
func (m *Model) TagsSettled(refs []types.ManagedObjectReference) bool {
	return m.tags.Err != nil || m.tags.Covers(refs)
}

// TaggedObjectCount returns the number of objects whose tags are known.
func (m *Model) TaggedObjectCount() int { return m.tags.Len() }

// VCenterUUID returns the vCenter's UUID.
func (m *Model) VCenterUUID() string { return m.vcenterUUID }

// Err returns the bound that the vCenter exceeds, if any.
func (m *Model) Err() error {
	if len(m.index) > faults.MaxVMs {
		return faults.ManyObjects
	}
	return m.Tree.Err()
}

// Len returns the number of VMs.
func (m *Model) Len() int { return len(m.index) }

// Has reports whether the index has the VM.
func (m *Model) Has(id string) bool {
	_, ok := m.index[id]
	return ok
}

// HasUUID reports whether the VM has a UUID in the index.
func (m *Model) HasUUID(id string) bool { return !m.index[id].uuid.IsZero() }

// Entry returns the VM's entry for snapshots.
func (m *Model) Entry(id string) inventory.Entry { return m.index[id].public(id) }

const recentBase = 1000

// Entries returns the VMs whose UUID is u, sorted by ID.
func (m *Model) Entries(u inventory.UUID) []inventory.Entry {
	m.refreshByUUID()
	if changed, ok := m.recent[u]; ok {
		return changed
	}
	return m.byUUID[u]
}

func (m *Model) refreshByUUID() {
	if m.byUUID != nil && len(m.touched) == 0 {
		return
	}
	if m.byUUID == nil || len(m.recent)+len(m.touched) > m.recentLimit() {
		m.byUUID = make(map[inventory.UUID][]inventory.Entry, len(m.index))
		m.recent = nil
		m.touched = map[inventory.UUID][]string{}
		m.touchCount = 0
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
		outdated, ok := recent[u]
		if !ok {
			outdated = m.byUUID[u]
		}
		updated := slices.DeleteFunc(slices.Clone(outdated), func(e inventory.Entry) bool { return slices.Contains(ids, e.ID) })
		for _, id := range ids {
			if e := m.index[id]; e.uuid == u {
				updated = append(updated, e.public(id))
			}
		}
		slices.SortFunc(updated, byID)
		recent[u] = updated
	}
	m.recent = recent
	clear(m.touched)
	m.touchCount = 0
}

func byID(a, b inventory.Entry) int { return strings.Compare(a.ID, b.ID) }

func (m *Model) sharedWithoutUUID() map[string]inventory.FirstSeen {
	if m.withoutUUIDCopy == nil && len(m.withoutUUID) > 0 {
		m.withoutUUIDCopy = maps.Clone(m.withoutUUID)
	}
	return m.withoutUUIDCopy
}

// SummaryUUID is not read for every VM, but only for VMs watched in detail. These include some VMs without a UUID, see
// Wanted. Reading it for all VMs would cost about 10% more and rarely help.
const SummaryUUID = "summary.config.uuid"

// IndexProperties are read for every VM. They do not change during normal use of a VM, so VMs of
// other tenants cause little work.
var IndexProperties = []string{"config.uuid", "config.template"}

type entry struct {
	// uuid is zero if it was never known. If readable is false, it is from an earlier read or the
	// summary.
	uuid inventory.UUID
	// lastFilter is the last filter that reported the VM. After a move between datacenters, the new
	// filter may report it before the old filter reports that it left.
	lastFilter string
	readable   bool
	template   bool
	secondary  bool
}

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

func (e entry) remembered() entry {
	return entry{uuid: e.uuid, template: e.template, secondary: e.secondary}
}

func (e entry) public(id string) inventory.Entry {
	return inventory.Entry{ID: id, Template: e.template, Unreadable: !e.readable}
}

const (
	// withoutUUIDMax is the maximum number of VMs without a UUID whose details are read, other than VMs that Node
	// annotations name. The details provide the paths in messages, and SummaryUUID.
	withoutUUIDMax = 10
	// withoutUUIDGrace is the age before which a new VM's details are not read. Most are clones, which
	// get a UUID within seconds.
	withoutUUIDGrace = 20 * time.Second
	// lostWindow is the time after a Node's VM has disappeared during which withoutUUIDGrace does not apply: a new VM may
	// be that VM, registered again.
	lostWindow = time.Hour
)

// Wanted returns, sorted, the managed object IDs to watch in detail: extraIDs, the VMs with the UUIDs except templates, the
// VMs without a UUID that annotations of Nodes name, and up to withoutUUIDMax other VMs without a UUID.
func (m *Model) Wanted(uuids map[inventory.UUID]bool, extraIDs []string) []string {
	ids := slices.Clone(extraIDs)
	for u := range uuids {
		for _, e := range m.Entries(u) {
			if !e.Template {
				ids = append(ids, e.ID)
			}
		}
	}
	ids = append(ids, m.watchedWithoutUUID(m.updateLost(uuids))...)
	ids = slices.AppendSeq(ids, maps.Keys(m.namedByNodes))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// updateLost updates lostAt, and reports whether a Node's VM disappeared less than lostWindow ago.
func (m *Model) updateLost(uuids map[inventory.UUID]bool) (lost bool) {
	maps.DeleteFunc(m.lostAt, func(u inventory.UUID, _ time.Time) bool { return !uuids[u] })
	for u := range uuids {
		lostAt, known := m.lostAt[u]
		shown := len(m.Entries(u)) > 0
		switch {
		case shown && (!known || !lostAt.IsZero()):
			m.lostAt[u] = time.Time{}
		case shown || !known:
		case lostAt.IsZero():
			m.lostAt[u] = time.Now()
			lost = true
		case time.Since(lostAt) < lostWindow:
			lost = true
		}
	}
	return lost
}

// watchedWithoutUUID returns some VMs without a UUID: if lost is set, the newest, without a grace period.
func (m *Model) watchedWithoutUUID(lost bool) []string {
	var ids []string
	for _, id := range slices.SortedFunc(maps.Keys(m.withoutUUID), func(a, b string) int {
		if newer := m.withoutUUID[b].At.Compare(m.withoutUUID[a].At); lost && newer != 0 {
			return newer
		}
		return strings.Compare(a, b)
	}) {
		if first := m.withoutUUID[id]; len(ids) < withoutUUIDMax && (lost || !first.Arrived || time.Since(first.At) >= withoutUUIDGrace) {
			ids = append(ids, id)
		}
	}
	return ids
}

// WithoutUnidentified returns ids without the VMs that have no UUID and that no annotation of a Node names.
func (m *Model) WithoutUnidentified(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, unknown := m.withoutUUID[id]
		_, annotated := m.namedByNodes[id]
		return unknown && !annotated
	})
}

// HasDetails reports whether the VM's details were read.
func (m *Model) HasDetails(id string) bool { return m.Tree.objects[VMRef(id)] != nil }

// DetailsUUID returns the UUID in the VM's details, zero if there is none.
func (m *Model) DetailsUUID(id string) inventory.UUID {
	u, err := inventory.ParseUUID(m.Tree.objects[VMRef(id)].string("config.uuid"))
	if err != nil {
		return inventory.UUID{}
	}
	return u
}

// WithAncestors returns the objects on the given paths of the VMs, or on all paths if none is given, sorted. A VM itself is
// only on its folder path.
func (m *Model) WithAncestors(ids []string, paths []topology.PathKind) []types.ManagedObjectReference {
	seen := map[types.ManagedObjectReference]bool{}
	for _, id := range ids {
		for _, start := range m.Tree.pathStarts(VMRef(id)) {
			if len(paths) > 0 && !slices.Contains(paths, start.kind) {
				continue
			}
			m.Tree.addWithAncestors(seen, start.ref)
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
