package model

import (
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// SummaryUUID is read only of machines that are followed: a machine without a UUID is
// followed for its name, and its summary may show the UUID. Of all machines it would
// cost a tenth more, to no end for those whose configuration can be read.
const SummaryUUID = "summary.config.uuid"

// IndexProperties are what is read of every machine: nothing that changes while a machine is used, so that
// what others do with theirs causes no work.
var IndexProperties = []string{"config.uuid", "config.template"}

// entry is all that is kept of a machine that is not followed.
type entry struct {
	// uuid is zero if it was never known. It stays when the configuration can
	// no longer be read, and readable is false then.
	uuid inventory.UUID
	// bySummary reports whether uuid is that of the machine's summary. That of its
	// configuration takes its place when that can be read.
	bySummary bool
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

// apply applies changes of the machine's properties, in whatever order.
func (e *entry) apply(changes []types.PropertyChange) {
	var summary inventory.UUID
	for _, change := range changes {
		p := properties{change.Name: change.Val}
		switch change.Name {
		case "config.uuid":
			uuid, err := inventory.ParseUUID(p.string(change.Name))
			if e.readable = err == nil; e.readable {
				e.uuid, e.bySummary = uuid, false
			}
		case SummaryUUID:
			summary, _ = inventory.ParseUUID(p.string(change.Name)) // zero if there is none
		case "config.template":
			if change.Val != nil {
				e.template = p.bool(change.Name)
			}
		}
	}
	if !summary.IsZero() && !e.readable && (e.uuid.IsZero() || e.bySummary) {
		e.uuid, e.bySummary = summary, true
	}
}

// earlier is what remains of an entry when another watch begins: its configuration may
// not be readable then.
func (e entry) earlier() entry {
	return entry{uuid: e.uuid, bySummary: e.bySummary, template: e.template, secondary: e.secondary}
}

func (e entry) public(id string) inventory.Entry {
	return inventory.Entry{ID: id, Template: e.template, Unreadable: !e.readable}
}
