package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

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
	ids = slices.AppendSeq(ids, maps.Keys(m.recorded))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// haveLost reports whether one of the UUIDs was in the index in the last hour, and is not now.
func (m *Model) haveLost(uuids map[inventory.UUID]bool) (lost bool) {
	maps.DeleteFunc(m.lost, func(u inventory.UUID, _ time.Time) bool { return !uuids[u] })
	for u := range uuids {
		at, known := m.lost[u]
		switch shown := len(m.Entries(u)) > 0; {
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
		_, recorded := m.recorded[id]
		return unknown && !recorded
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
