package model

import (
	"maps"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A View is what a snapshot has beside the model.
type View struct {
	// Machines are those whose details the snapshot has, by managed object ID.
	Machines []string
	// Outside are those of them that are in none of the configured datacenters, and
	// Recorded those that only a Node names.
	Outside, Recorded []string
	// Names are the machines with the name of a Node without a UUID.
	Names map[string][]inventory.NameEntry
	// Incomplete says which of the configured datacenters are not there.
	Incomplete error
	// Hosts are what is read of hosts.
	Hosts HostFacts
}

// Snapshot makes an immutable picture of the model. A machine that is as it was in the last one
// is the same value, so that whoever compares two snapshots compares pointers.
func (m *Model) Snapshot(v View) *inventory.Snapshot {
	m.refreshIndex()
	snap := &inventory.Snapshot{
		VCenter:             m.vcenter,
		Instance:            m.instance,
		ReadAt:              time.Now(),
		Incomplete:          v.Incomplete,
		Index:               m.byUUID,
		Recent:              m.recent,
		Unreadable:          m.unreadable(),
		Names:               v.Names,
		InvisibleCategories: m.tags.Absent,
		VisibleCategories:   m.tags.Present,
		Machines:            make(map[string]*inventory.Machine, len(v.Machines)),
	}
	p := placed{
		vcenter: m.vcenter, tree: m.Tree, tags: m.tags, hosts: &Memberships{Facts: v.Hosts},
		objects: map[types.ManagedObjectReference]*topology.Object{}, paths: map[types.ManagedObjectReference]topology.Path{},
		before: m.pictured,
	}
	for _, id := range v.Machines {
		if machine := p.machine(id); machine != nil {
			m.keepRole(id, machine)
			snap.Machines[id] = unchanged(m.pictured.machines[id], machine)
		}
	}
	m.pictured = pictured{p.objects, snap.Machines}
	for _, ref := range m.tags.NotPermitted() {
		snap.NotPermitted = append(snap.NotPermitted, p.ref(ref))
	}
	for _, id := range v.Outside {
		if snap.Machines[id] != nil {
			snap.Outside = append(snap.Outside, id)
		}
	}
	snap.Recorded = m.recorded // which is replaced when it changes
	if len(v.Recorded) > 0 {
		snap.Recorded = make(map[string]inventory.Entry, len(m.recorded)+len(v.Recorded))
		maps.Copy(snap.Recorded, m.recorded)
	}
	for _, id := range v.Recorded {
		if snap.Machines[id] != nil {
			snap.Recorded[id] = inventory.Entry{ID: id}
		}
	}
	return snap
}

// keepRole has a machine keep its role of a Fault Tolerance pair while its configuration cannot be read.
func (m *Model) keepRole(id string, now *inventory.Machine) {
	switch e, indexed := m.index[id]; {
	case now.UUID.IsZero():
		now.Secondary = e.secondary
	case indexed && e.secondary != now.Secondary:
		e.secondary = now.Secondary
		m.index[id] = e
	}
}
