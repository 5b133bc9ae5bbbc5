package placement

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// locationAnnotations returns the annotations that record a Node's VM, or nil if an initialized Node has them.
func locationAnnotations(states []inventory.State, n *v1.Node, m *inventory.VM, snapshot *inventory.Snapshot) map[string]string {
	if !nodeinfo.IsUninitialized(n) {
		if id, err := nodeinfo.IdentityOf(n); err != nil || isRecorded(states, id, m, snapshot) {
			return nil
		}
	}
	formatted := nodeinfo.FormatLocation(m.Ref)
	if nodeinfo.ParseLocation(formatted) != m.Ref {
		return nil
	}
	annotations := map[string]string{nodeinfo.KeyVM: formatted}
	if snapshot.Instance != "" {
		annotations[nodeinfo.KeyVCenter] = snapshot.Instance
	}
	if !m.InstanceUUID.IsZero() {
		annotations[nodeinfo.KeyInstanceUUID] = m.InstanceUUID.String()
	}
	return annotations
}

// isRecorded reports whether the Node's annotations contain the VM's location. While the vCenter cannot be read through the
// recorded configuration entry, the same VM found through another entry also matches, so that an outage causes no write.
func isRecorded(states []inventory.State, id inventory.Identity, m *inventory.VM, snapshot *inventory.Snapshot) bool {
	if id.Recorded == m.Ref {
		return (id.RecordedInstance == snapshot.Instance || snapshot.Instance == "") && (id.RecordedVM == m.InstanceUUID || m.InstanceUUID.IsZero())
	}
	named := inventory.StateOf(states, id.Recorded.VCenter)
	return named.VCenter != "" && named.Err != nil && inventory.IsSameVM(states, m.Ref, id.Recorded, id.RecordedInstance)
}
