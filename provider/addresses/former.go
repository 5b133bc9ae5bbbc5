package addresses

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

func formerOf(node *v1.Node) (former []v1.NodeAddress) {
	for _, part := range strings.SplitN(node.Annotations[nodeinfo.KeyFormerAddresses], ",", 5) {
		kind, a, _ := strings.Cut(part, "=")
		former = append(former, v1.NodeAddress{Type: v1.NodeAddressType(kind), Address: a})
	}
	return former
}

// Former returns the annotation nodeinfo.KeyFormerAddresses for given new addresses. It contains a Node's first
// address of each type and family from when the VM stops reporting it, while an interface has none, until the
// Node gets it back.
func Former(node *v1.Node, m *inventory.VM, given []v1.NodeAddress) string {
	var parts []string
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, family := range []string{"ipv4", "ipv6"} {
			isStarting := func(nic inventory.NIC) bool {
				return nic.DeviceConfigID != -1 && !slices.ContainsFunc(nic.Addresses, func(a netip.Addr) bool { return forbiddenBy(a.Unmap()) == NotChosen && familyOf(a.Unmap()) == family })
			}
			former := first(formerOf(node), kind, family)
			if !former.IsValid() {
				former = first(node.Status.Addresses, kind, family)
				if backing, _ := BackingOf(m, former); backing != Unbacked || !slices.ContainsFunc(m.NICs, isStarting) {
					continue
				}
			}
			if former.IsValid() && former != first(given, kind, family) {
				parts = append(parts, string(kind)+"="+former.String())
			}
		}
	}
	return strings.Join(parts, ",")
}
