package vcenter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// model is what a vCenter has reported since a watch began: the index of all
// machines, and the followed ones with everything above them. It belongs to one
// goroutine and turns into immutable snapshots.
type model struct {
	vcenter string
	tree    *tree
	index   map[string]indexed // by managed object ID
	// unreadable counts the machines in index without a UUID.
	unreadable int
	tags       attachments

	// byUUID is shared with snapshots and made anew when the index has changed.
	byUUID map[inventory.UUID][]inventory.Entry
}

// indexed is all that is kept of a machine that is not followed.
type indexed struct {
	uuid     inventory.UUID
	readable bool
	template bool
	power    inventory.Power
}

// indexProperties are what is read of every machine.
var indexProperties = []string{"config.uuid", "config.template", "runtime.powerState"}

func newModel(vcenter string, root types.ManagedObjectReference) *model {
	return &model{vcenter: vcenter, tree: newTree(root), index: map[string]indexed{}}
}

// applyIndex takes over a change of a machine in the index.
func (m *model) applyIndex(u *types.ObjectUpdate) {
	m.byUUID = nil
	before, known := m.index[u.Obj.Value]
	if known && !before.readable {
		m.unreadable--
	}
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(m.index, u.Obj.Value)
		return
	}
	now := before
	for _, change := range u.ChangeSet {
		p := properties{change.Name: change.Val}
		switch change.Name {
		case "config.uuid":
			uuid, err := inventory.ParseUUID(p.string(change.Name))
			now.uuid, now.readable = uuid, err == nil
		case "config.template":
			now.template = p.bool(change.Name)
		case "runtime.powerState":
			now.power = p.power()
		}
	}
	if !now.readable {
		m.unreadable++
	}
	m.index[u.Obj.Value] = now
}

// uuids returns the index by UUID, with the entries of one UUID in order.
func (m *model) uuids() map[inventory.UUID][]inventory.Entry {
	if m.byUUID != nil {
		return m.byUUID
	}
	m.byUUID = make(map[inventory.UUID][]inventory.Entry, len(m.index))
	for id, e := range m.index {
		if e.readable {
			m.byUUID[e.uuid] = append(m.byUUID[e.uuid], m.entry(id))
		}
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
	return inventory.Entry{ID: id, Template: e.template, PoweredOn: e.power == inventory.PowerOn}
}

// wanted returns the managed object IDs of the followed machines, in order.
func (m *model) wanted(f *followed, names map[string][]inventory.NameEntry) []string {
	var ids []string
	index := m.uuids()
	for u := range f.uuids {
		for _, e := range index[u] {
			if !e.Template {
				ids = append(ids, e.ID)
			}
		}
	}
	for _, node := range f.names {
		for _, e := range names[node] {
			if !e.Template {
				ids = append(ids, e.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// has says whether the details of a machine are there.
func (m *model) has(id string) bool { return m.tree.objects[machineRef(id)] != nil }

// above returns the machines and everything above them, in order.
func (m *model) above(ids []string) []types.ManagedObjectReference {
	seen := map[types.ManagedObjectReference]bool{}
	for _, id := range ids {
		for _, start := range m.tree.starts(machineRef(id)) {
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
// given machines.
func (m *model) snapshot(ids []string, names map[string][]inventory.NameEntry, incomplete error) *inventory.Snapshot {
	snap := &inventory.Snapshot{
		VCenter:    m.vcenter,
		ReadAt:     time.Now(),
		Incomplete: incomplete,
		Index:      m.uuids(),
		Names:      names,
		Machines:   make(map[string]*inventory.Machine, len(ids)),
	}
	if m.unreadable > 0 && incomplete == nil {
		// Inaccessible and orphaned machines exist, whatever their UUID is.
		snap.Incomplete = fmt.Errorf("vCenter %q: the configuration of %d machines cannot be read", m.vcenter, m.unreadable)
	}
	p := placed{vcenter: m.vcenter, tree: m.tree, tags: m.tags, objects: map[types.ManagedObjectReference]*topology.Object{}}
	for _, id := range ids {
		if machine := p.machine(id); machine != nil {
			snap.Machines[id] = machine
		}
	}
	return snap
}
