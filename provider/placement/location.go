package placement

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// location returns the annotations that say where a Node's machine is, nil if they are there or
// cannot say that.
func location(states []inventory.State, n *v1.Node, m *inventory.Machine, in *inventory.Snapshot) map[string]string {
	if !nodeinfo.IsUninitialized(n) {
		if id, err := nodeinfo.IdentityOf(n); n.Spec.ProviderID == "" || err != nil || isRecorded(states, id, m, in) {
			return nil
		}
	}
	at := nodeinfo.FormatLocation(m.Ref)
	if nodeinfo.ParseLocation(at) != m.Ref {
		return nil
	}
	all := map[string]string{nodeinfo.KeyMachine: at}
	if in.Instance != "" {
		all[nodeinfo.KeyVCenter] = in.Instance
	}
	return all
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
