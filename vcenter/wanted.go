package vcenter

import (
	"slices"
	"strings"

	"vzones/vcenter/inventory"
)

// followed are the machines whose details are wanted.
type followed struct {
	uuids map[inventory.UUID]bool
	// forms are the Nodes that have a UUID.
	forms []forms
	// names are the Nodes without a UUID, by their lower-case name.
	names map[string]string
	// told are the machines that Nodes say theirs were found as, by vCenter and managed
	// object ID, with the UUIDs of these Nodes. Kubelets can write that: it decides about
	// nobody else's machine.
	told map[string]map[string][]inventory.UUID
}

// forms are the UUIDs that a Node's machine may have, and the vCenter where the Node says
// that it was found, if it does.
type forms struct {
	uuids []inventory.UUID
	home  string
}

func newFollowed(ids []inventory.Identity) *followed {
	f := &followed{uuids: map[inventory.UUID]bool{}, names: map[string]string{}, told: map[string]map[string][]inventory.UUID{}}
	for _, id := range ids {
		for _, u := range id.UUIDs {
			f.uuids[u] = true
		}
		if len(id.UUIDs) == 0 {
			f.names[strings.ToLower(id.Name)] = id.Name
			continue
		}
		of := forms{uuids: id.UUIDs}
		if vc := id.Known.VCenter; vc != "" && len(id.UUIDs) == 1 {
			of.home = vc
			if f.told[vc] == nil {
				f.told[vc] = map[string][]inventory.UUID{}
			}
			if u := id.UUIDs[0]; !slices.Contains(f.told[vc][id.Known.ID], u) {
				f.told[vc][id.Known.ID] = append(f.told[vc][id.Known.ID], u)
			}
		}
		f.forms = append(f.forms, of)
	}
	return f
}
