package placement

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// Location is where a machine is, as a Node's annotations have it.
type Location struct {
	Machine string
	// VCenter is the own UUID of the machine's vCenter, empty if that is not known.
	VCenter string
}

// Annotations returns those that say this, none for the zero value.
func (l Location) Annotations() map[string]string {
	all := map[string]string{}
	if l.Machine != "" {
		all[nodeinfo.KeyMachine] = l.Machine
	}
	if l.VCenter != "" {
		all[nodeinfo.KeyVCenter] = l.VCenter
	}
	return all
}

// location returns what is to be written onto a Node of where its machine is, zero if nothing is or
// if annotations cannot say that.
func location(states []inventory.State, n *v1.Node, m *inventory.Machine, in *inventory.Snapshot) Location {
	if !nodeinfo.IsUninitialized(n) {
		if id, err := nodeinfo.IdentityOf(n); n.Spec.ProviderID == "" || err != nil || isRecorded(states, id, m, in) {
			return Location{}
		}
	}
	at := nodeinfo.FormatLocation(m.Ref)
	if nodeinfo.ParseLocation(at) != m.Ref {
		return Location{}
	}
	return Location{Machine: at, VCenter: in.Instance}
}

// isRecorded reports whether a Node says where its machine is. One that names another entry
// of the same vCenter, which fails just now, does: it is not written for each outage.
func isRecorded(states []inventory.State, id inventory.Identity, m *inventory.Machine, in *inventory.Snapshot) bool {
	if id.Recorded == m.Ref {
		return id.RecordedInstance == in.Instance || in.Instance == ""
	}
	named := inventory.StateOf(states, id.Recorded.VCenter)
	return named.VCenter != "" && named.Err != nil && inventory.IsSameMachine(states, m.Ref, id.Recorded, id.RecordedInstance)
}
