package vcenter

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
)

// model is what a vCenter has reported since a watch began: the index of all
// machines, and the followed ones with everything above them. It belongs to one
// goroutine and turns into immutable snapshots.
type model struct {
	vcenter string
	// instance is the vCenter's own UUID. Another one under the same name has
	// other machines under the same managed object IDs.
	instance string
	tree     *tree
	index    map[string]indexed // by managed object ID
	// unknown are the machines in index that never had a UUID, and when they were
	// first seen.
	unknown map[string]inventory.FirstSeen
	// told are those of them that Nodes say theirs were found as. hearsay are machines
	// of which nothing but that tells, which only an index of followed machines has:
	// another Node does not hear of them.
	told    map[string]inventory.Entry
	hearsay map[string]bool
	// apart are the machines in index that are in none of the configured datacenters,
	// which only an index of followed machines has. Snapshots' indexes leave them out.
	apart map[string]bool
	tags  tags.Attachments
	// tagged is to what the tags of regions and zones are attached.
	tagged []topology.Tagged
	// complete reports whether the index has come in whole: what comes from then on
	// has just arrived.
	complete bool
	// before is what the watch before had at its end; nil once this one is
	// complete.
	before *model

	// byUUID and unread, which is what of unknown concerns every Node, are shared with
	// snapshots and made anew when the index has changed.
	byUUID map[inventory.UUID][]inventory.Entry
	unread map[string]inventory.FirstSeen
}

// indexed is all that is kept of a machine that is not followed.
type indexed struct {
	// uuid is zero if it was never known. It stays when the configuration can
	// no longer be read, and readable is false then.
	uuid inventory.UUID
	// bySummary reports whether uuid is that of the machine's summary. That of its
	// configuration takes its place when that can be read.
	bySummary bool
	// filter is the one that told of the machine last. A machine that moves from
	// one configured datacenter to another may be told of before the first says
	// that it has left.
	filter    string
	readable  bool
	template  bool
	secondary bool // of a Fault Tolerance pair
	power     inventory.Power
}

// indexProperties are what is read of every machine.
var indexProperties = []string{"config.uuid", "config.template", faultTolerance, "runtime.powerState"}

// summaryUUID is read only of machines that are followed: a machine without a UUID is
// followed for its name, and its summary may show the UUID. Of all machines it would
// cost a tenth more, to no end for those whose configuration can be read.
const summaryUUID = "summary.config.uuid"

// completed notes that the index has come in whole.
func (m *model) completed() { m.complete, m.before = true, nil }

func newModel(vcenter string, about types.ServiceContent, before *model) *model {
	instance := about.About.InstanceUuid
	if before != nil && before.instance != instance {
		before = nil
	}
	m := &model{
		vcenter: vcenter, instance: instance, tree: newTree(about.RootFolder),
		index: map[string]indexed{}, unknown: map[string]inventory.FirstSeen{},
		before: before,
	}
	if before != nil {
		m.tree.were = before.tree.readBefore()
	}
	return m
}

// applyIndex takes over a change of a machine in the index, as a filter tells it.
func (m *model) applyIndex(filter string, u *types.ObjectUpdate) {
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
	if !known {
		now = m.remembered(id)
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

// apply takes over changes of the machine's properties, in whatever order.
func (e *indexed) apply(changes []types.PropertyChange) {
	var summary inventory.UUID
	var role, secondary bool
	for _, change := range changes {
		p := properties{change.Name: change.Val}
		switch change.Name {
		case "config.uuid":
			uuid, err := inventory.ParseUUID(p.string(change.Name))
			if e.readable = err == nil; e.readable {
				e.uuid, e.bySummary = uuid, false
			}
		case summaryUUID:
			summary, _ = inventory.ParseUUID(p.string(change.Name)) // zero if there is none
		case "config.template":
			if change.Val != nil {
				e.template = p.bool(change.Name)
			}
		case faultTolerance, faultTolerance + ".role":
			role, secondary = true, p.secondary(change.Name)
		case "runtime.powerState":
			e.power = p.power()
		}
	}
	if role && (secondary || e.readable) { // an unreadable configuration has no role
		e.secondary = secondary
	}
	if !summary.IsZero() && !e.readable && (e.uuid.IsZero() || e.bySummary) {
		e.uuid, e.bySummary = summary, true
	}
}

// summaries takes over the UUIDs that the summaries of followed machines without one
// show, and reports whether there are any.
func (m *model) summaries() bool {
	found := false
	for id := range m.unknown {
		value := m.tree.objects[machineRef(id)].string(summaryUUID)
		if value == "" {
			continue
		}
		e := m.index[id]
		if e.apply([]types.PropertyChange{{Name: summaryUUID, Val: value}}); e.uuid.IsZero() {
			continue
		}
		m.index[id] = e
		delete(m.unknown, id)
		m.byUUID, found = nil, true
	}
	return found
}

// remembered is what the watch before knew of a machine whose configuration
// this one may not be able to read.
func (m *model) remembered(id string) indexed {
	if m.before == nil {
		return indexed{}
	}
	was := m.before.index[id]
	return indexed{uuid: was.uuid, bySummary: was.bySummary, template: was.template, secondary: was.secondary}
}

// firstSeen returns when a machine without a UUID was first seen.
func (m *model) firstSeen(id string) inventory.FirstSeen {
	if m.before != nil {
		if first, ok := m.before.unknown[id]; ok {
			return first
		}
	}
	return inventory.FirstSeen{At: time.Now(), Arrived: m.complete}
}

// tell takes over which machines Nodes say theirs were found as, and says whether that
// is news of machines without a UUID.
func (m *model) tell(all map[string][]inventory.UUID) bool {
	var told map[string]inventory.Entry
	for id := range m.unknown {
		if _, ok := all[id]; !ok {
			continue
		}
		if told == nil {
			told = map[string]inventory.Entry{}
		}
		told[id] = m.entry(id)
	}
	if maps.Equal(told, m.told) {
		return false
	}
	m.told = told
	return true
}

// hear takes over which machines are in the index only since a Node names them.
func (m *model) hear(hearsay map[string]bool) (news bool) {
	if maps.Equal(hearsay, m.hearsay) {
		return false
	}
	m.hearsay, m.byUUID = hearsay, nil
	return true
}

// uuids returns the index by UUID, with the entries of one UUID in order: the UUIDs that
// were read here, by this watch or one before it.
func (m *model) uuids() map[inventory.UUID][]inventory.Entry {
	if m.byUUID != nil {
		return m.byUUID
	}
	m.byUUID = make(map[inventory.UUID][]inventory.Entry, len(m.index))
	for id, e := range m.index {
		if !e.uuid.IsZero() && !m.apart[id] {
			m.byUUID[e.uuid] = append(m.byUUID[e.uuid], m.entry(id))
		}
	}
	m.unread = nil
	for id, first := range m.unknown {
		if m.hearsay[id] {
			continue
		}
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

func (m *model) entry(id string) inventory.Entry {
	e := m.index[id]
	return inventory.Entry{ID: id, Template: e.template, Secondary: e.secondary, PoweredOn: e.power == inventory.PowerOn, Unreadable: !e.readable}
}

const (
	// namedMax bounds how many machines without a UUID are followed, so that they
	// can be named by their inventory paths.
	namedMax = 10
	// namedAfter is for how long a machine that has come may be without a UUID before
	// it is followed for that. Most are clones, which have one after some seconds.
	namedAfter = 20 * time.Second
)

// wanted returns the managed object IDs of the machines to follow, in order: the
// Nodes', those that may be but are in none of the configured datacenters, and of those
// that nothing is known of a few, and the ones that Nodes tell of.
func (m *model) wanted(f *followed, names map[string][]inventory.NameEntry, outside []string) []string {
	ids := slices.Clone(outside)
	index := m.uuids()
	for u := range f.uuids {
		for _, e := range index[u] {
			if e.Eligible() {
				ids = append(ids, e.ID)
			}
		}
	}
	for _, node := range f.names {
		for _, e := range names[node] {
			if e.Eligible() {
				ids = append(ids, e.ID)
			}
		}
	}
	ids = append(ids, m.toName()...)
	ids = slices.AppendSeq(ids, maps.Keys(m.told))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// toName returns the machines without a UUID that are followed for their names, in
// order.
func (m *model) toName() []string {
	var some []string
	for _, id := range slices.Sorted(maps.Keys(m.unread)) {
		if first := m.unread[id]; len(some) < namedMax && (!first.Arrived || time.Since(first.At) >= namedAfter) {
			some = append(some, id)
		}
	}
	return some
}

// eligible returns those of the followed machines that may be Nodes', and are not
// followed for their names alone.
func (m *model) eligible(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, unknown := m.unknown[id]
		_, told := m.told[id]
		return unknown && !told
	})
}

// has says whether the details of a machine are there.
func (m *model) has(id string) bool { return m.tree.objects[machineRef(id)] != nil }

// uuid returns the UUID in the details of a machine, zero if there is none.
func (m *model) uuid(id string) inventory.UUID {
	u, err := inventory.ParseUUID(m.tree.objects[machineRef(id)].string("config.uuid"))
	if err != nil {
		return inventory.UUID{}
	}
	return u
}

// above returns the machines and everything above them on these paths, or on all if
// there are none, in order.
func (m *model) above(ids []string, paths []topology.PathKind) []types.ManagedObjectReference {
	seen := map[types.ManagedObjectReference]bool{}
	for _, id := range ids {
		for _, start := range m.tree.starts(machineRef(id)) {
			if len(paths) > 0 && !slices.Contains(paths, start.kind) {
				continue
			}
			refs, _ := m.tree.upTo(start.ref)
			for _, ref := range refs {
				seen[ref] = true
			}
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

// snapshot makes an immutable picture of the model with the details of the
// given machines, some of which are outside the configured datacenters, and some of these
// only told of by Nodes.
func (m *model) snapshot(ids []string, out outside, names map[string][]inventory.NameEntry, incomplete error, h *hosts) *inventory.Snapshot {
	index := m.uuids() // which makes unread
	snap := &inventory.Snapshot{
		VCenter:    m.vcenter,
		Instance:   m.instance,
		ReadAt:     time.Now(),
		Incomplete: incomplete,
		Index:      index,
		Unreadable: m.unread,
		Names:      names,
		NoCategory: m.tags.Absent,
		Tagged:     m.tagged,
		Machines:   make(map[string]*inventory.Machine, len(ids)),
	}
	p := placed{vcenter: m.vcenter, tree: m.tree, tags: m.tags, hosts: h, objects: map[types.ManagedObjectReference]*topology.Object{}}
	for _, id := range ids {
		if machine := p.machine(id); machine != nil {
			snap.Machines[id] = machine
		}
	}
	for _, ref := range m.tags.NotPermitted() {
		snap.NotPermitted = append(snap.NotPermitted, p.ref(ref))
	}
	for _, id := range out.left {
		if snap.Machines[id] != nil {
			snap.Outside = append(snap.Outside, id)
		}
	}
	snap.Told = m.told // which is made anew when it changes
	if len(out.told) > 0 {
		snap.Told = make(map[string]inventory.Entry, len(m.told)+len(out.told))
		maps.Copy(snap.Told, m.told)
	}
	for _, id := range out.told {
		if snap.Machines[id] != nil {
			snap.Told[id] = inventory.Entry{ID: id}
		}
	}
	return snap
}
