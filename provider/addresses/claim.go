package addresses

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// A Claim is another Node's claim to an address.
type Claim struct {
	Node string
	// Void means that only that Node's own statement supports the claim, or that its VM does not have the
	// address. Another Node may then get it.
	Void bool
	// Why is the reason in words if the claim is not void.
	Why string
}

// ClaimedBy returns a Node's first internal and external IP of each family, and --node-ip.
func ClaimedBy(node *v1.Node) []netip.Addr {
	var claimed usable
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, family := range []string{"ipv4", "ipv6"} {
			claimed.add(first(node.Status.Addresses, kind, family))
		}
	}
	claimed.add(provided(node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr])...)
	return claimed
}

type usable []netip.Addr

func (u *usable) add(addrs ...netip.Addr) {
	for _, a := range addrs {
		if a.IsValid() && forbiddenBy(a) == NotChosen && !slices.Contains(*u, a) {
			*u = append(*u, a)
		}
	}
}

// Backing is the evidence from a VM for an address that its Node claims.
type Backing int

const (
	// Unclear means that the VM runs without an address of the family, or that its data is incomplete.
	Unclear Backing = iota
	// Backed means that the VM has the address.
	Backed
	// Unbacked means that the VM has only other addresses.
	Unbacked
)

// BackingOf returns a VM's backing for an address of its Node, and the reason in words.
func BackingOf(m *inventory.VM, a netip.Addr) (Backing, string) {
	switch {
	case contains(m.Static, a):
		return Backed, "its VM's metadata contains it"
	case m.GuestAddress == a:
		return Backed, "its VM reports it"
	}
	hasOthers := false
	for i := range m.NICs {
		for _, reported := range m.NICs[i].Addresses {
			reported = reported.Unmap()
			if reported == a {
				return Backed, "its VM reports it"
			}
			hasOthers = hasOthers || m.NICs[i].DeviceConfigID != -1 && forbiddenBy(reported) == NotChosen && familyOf(reported) == familyOf(a)
		}
	}
	switch {
	case m.Power == inventory.PowerOff:
		return Unbacked, "its VM is powered off"
	case m.Partial:
		return Unclear, "its VM reports more addresses than vzones reads"
	case hasOthers:
		return Unbacked, "its VM has other addresses"
	}
	return Unclear, "its VM currently reports no address"
}

// Candidates returns the VM's addresses that claims may exclude, and --node-ip.
func (input *Input) Candidates() []netip.Addr {
	addrs := ofDevices(input.NICs)
	addrs.add(provided(input.Provided)...)
	return addrs
}

// IsOfFamily reports whether the family of an address is configured.
func (input *Input) IsOfFamily(a netip.Addr) bool {
	return slices.Contains(input.Families, familyOf(a))
}

// Reported returns the addresses that a VM reports for its Node.
func Reported(m *inventory.VM) []netip.Addr {
	addrs := ofDevices(m.NICs)
	addrs.add(m.GuestAddress)
	return addrs
}

func ofDevices(nics []inventory.NIC) (addrs usable) {
	for i := range nics {
		for _, a := range nics[i].Addresses {
			if nics[i].DeviceConfigID != -1 {
				addrs.add(a.Unmap())
			}
		}
	}
	return addrs
}

// LacksFamilyOf reports whether vzones has chosen no address of a's family for a Node.
func LacksFamilyOf(node *v1.Node, a netip.Addr) bool {
	return nodeinfo.IsUninitialized(node) ||
		!first(node.Status.Addresses, v1.NodeInternalIP, familyOf(a)).IsValid() && !first(node.Status.Addresses, v1.NodeExternalIP, familyOf(a)).IsValid()
}

// claim returns another Node's claim, but none to this Node's current addresses, which it never loses to one.
func (input *Input) claim(a netip.Addr) (Claim, bool) {
	claim, claimed := input.Claims[a]
	if !claimed || a == input.current(v1.NodeInternalIP, familyOf(a)) || a == input.current(v1.NodeExternalIP, familyOf(a)) {
		return Claim{}, false
	}
	return claim, true
}
