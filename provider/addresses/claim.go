package addresses

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	helpers "k8s.io/cloud-provider/node/helpers"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// A Claim is another Node's claim to an address.
type Claim struct {
	Node string
	// Void means that only that Node's own statement supports the claim, or that its VM does not have the address.
	// Another Node may then get it.
	Void bool
	// Why is the reason in words if the claim is not void.
	Why string
}

// ClaimedBy returns the addresses that a Node claims: its first internal and external IP of each family, and --node-ip.
func ClaimedBy(node *v1.Node) []netip.Addr {
	var all usable
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, family := range []string{"ipv4", "ipv6"} {
			all.add(first(node.Status.Addresses, kind, family))
		}
	}
	all.add(provided(node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr])...)
	return all
}

type usable []netip.Addr

func (u *usable) add(some ...netip.Addr) {
	for _, a := range some {
		if a.IsValid() && drop(a) == NotChosen && !slices.Contains(*u, a) {
			*u = append(*u, a)
		}
	}
}

// Backing is the evidence from a VM for an address that its Node claims.
type Backing int

const (
	// Unclear means that the VM runs and reports no address of the family, or that its data is incomplete.
	Unclear Backing = iota
	Backed
	Unbacked
)

// Back returns a VM's backing for an address that its Node claims, and the reason in words.
func Back(m *inventory.Machine, a netip.Addr) (Backing, string) {
	switch {
	case has(m.Static, a):
		return Backed, "its VM's metadata has it"
	case m.GuestAddress == a:
		return Backed, "its VM reports it"
	}
	others := false
	for i := range m.NICs {
		for _, one := range m.NICs[i].Addresses {
			one = one.Unmap()
			if one == a {
				return Backed, "its VM reports it"
			}
			others = others || m.NICs[i].DeviceConfigID != -1 && drop(one) == NotChosen && familyOf(one) == familyOf(a)
		}
	}
	switch {
	case m.Power == inventory.PowerOff:
		return Unbacked, "its VM is powered off"
	case m.Partial:
		return Unclear, "its VM reports more addresses than are looked at"
	case others:
		return Unbacked, "its VM has others"
	}
	return Unclear, "its VM reports no address now"
}

// Candidates returns the VM's addresses that claims of other Nodes may exclude, and --node-ip.
func (in *Input) Candidates() []netip.Addr {
	all := ofDevices(in.NICs)
	all.add(provided(in.Provided)...)
	return all
}

// IsOfFamily reports whether the family of an address is configured.
func (in *Input) IsOfFamily(a netip.Addr) bool { return slices.Contains(in.Families, familyOf(a)) }

// Reported returns the addresses that a VM reports and its Node may get.
func Reported(m *inventory.Machine) []netip.Addr {
	all := ofDevices(m.NICs)
	all.add(m.GuestAddress)
	return all
}

func ofDevices(nics []inventory.NIC) (all usable) {
	for i := range nics {
		for _, a := range nics[i].Addresses {
			if nics[i].DeviceConfigID != -1 {
				all.add(a.Unmap())
			}
		}
	}
	return all
}

// IsWithout reports whether a Node has no address of a's family. An uninitialized Node has none that vzones chose.
func IsWithout(node *v1.Node, a netip.Addr) bool {
	return nodeinfo.IsUninitialized(node) ||
		!first(node.Status.Addresses, v1.NodeInternalIP, familyOf(a)).IsValid() && !first(node.Status.Addresses, v1.NodeExternalIP, familyOf(a)).IsValid()
}

// provided parses the annotation of --node-ip. No kubelet writes more than two addresses.
func provided(annotation string) []netip.Addr {
	parts := strings.SplitN(annotation, ",", 3)
	if len(parts) > 2 {
		return nil
	}
	var all []netip.Addr
	for _, part := range parts {
		if a, ok := parse(part); ok {
			all = append(all, a)
		}
	}
	return all
}

// first returns the first address of a kind and a family, or the zero Addr.
func first(all []v1.NodeAddress, kind v1.NodeAddressType, family string) netip.Addr {
	for _, one := range all {
		if one.Type != kind {
			continue
		}
		if a, ok := parse(one.Address); ok && familyOf(a) == family {
			return a
		}
	}
	return netip.Addr{}
}

// parse rejects IPv6 zones, because a kubelet can write any text there.
func parse(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil && a.Zone() == ""
}

func (in *Input) has(kind v1.NodeAddressType, family string) netip.Addr {
	return first(in.Has, kind, family)
}

func formerOf(node *v1.Node) (all []v1.NodeAddress) {
	for _, part := range strings.SplitN(node.Annotations[nodeinfo.KeyFormerAddresses], ",", 5) {
		kind, a, _ := strings.Cut(part, "=")
		all = append(all, v1.NodeAddress{Type: v1.NodeAddressType(kind), Address: a})
	}
	return all
}

// Former returns the annotation nodeinfo.KeyFormerAddresses for a Node that gets new addresses. For each type and
// family it contains the first address that the VM stopped reporting while an interface had no usable address, until
// the Node gets that address back.
func Former(node *v1.Node, m *inventory.Machine, given []v1.NodeAddress) string {
	var all []string
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, family := range []string{"ipv4", "ipv6"} {
			isStarting := func(nic inventory.NIC) bool {
				return nic.DeviceConfigID != -1 && !slices.ContainsFunc(nic.Addresses, func(a netip.Addr) bool { return drop(a.Unmap()) == NotChosen && familyOf(a.Unmap()) == family })
			}
			former := first(formerOf(node), kind, family)
			if !former.IsValid() {
				former = first(node.Status.Addresses, kind, family)
				if is, _ := Back(m, former); is != Unbacked || !slices.ContainsFunc(m.NICs, isStarting) {
					continue
				}
			}
			if former.IsValid() && former != first(given, kind, family) {
				all = append(all, string(kind)+"="+former.String())
			}
		}
	}
	return strings.Join(all, ",")
}

// claim returns another Node's claim to an address. A running Node never loses an address to a claim.
func (in *Input) claim(a netip.Addr) (Claim, bool) {
	claim, claimed := in.Claims[a]
	if !claimed || a == in.has(v1.NodeInternalIP, familyOf(a)) || a == in.has(v1.NodeExternalIP, familyOf(a)) {
		return Claim{}, false
	}
	return claim, true
}

func (in *Input) unreported(reported []Result) []Result {
	var out []Result
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, family := range in.Families {
			a := in.has(kind, family)
			known := func(v Result) bool { return v.Address == a }
			if !a.IsValid() || !has(in.Static, a) || slices.ContainsFunc(reported, known) || slices.ContainsFunc(out, known) {
				continue
			}
			v := Result{Address: a, Assumed: true, Static: true}
			v.dropBy(drop(a))
			out = append(out, v)
		}
	}
	return out
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// Written returns the addresses that the framework's node controller would write: it keeps the Node's host name if
// addresses has none, and --node-ip replaces all other addresses of its type.
func Written(node *v1.Node, addresses []v1.NodeAddress) ([]v1.NodeAddress, error) {
	isHostName := func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName }
	if !slices.ContainsFunc(addresses, isHostName) {
		addresses = slices.Clone(addresses)
		for _, a := range node.Status.Addresses {
			if isHostName(a) {
				addresses = append(addresses, a)
			}
		}
	}
	if provided, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		return helpers.GetNodeAddressesFromNodeIP(provided, addresses)
	}
	return addresses, nil
}

// Unchanged reports whether the Node already has the addresses that the framework would write. The framework compares
// only one address of each type, and would rewrite a Node with two internal IPs forever. The order of types is ignored,
// because the API server changes it.
func Unchanged(node *v1.Node, addresses []v1.NodeAddress) bool {
	written, err := Written(node, addresses)
	return err == nil && slices.Equal(byType(written), byType(node.Status.Addresses))
}

func byType(addresses []v1.NodeAddress) []v1.NodeAddress {
	addresses = slices.Clone(addresses)
	slices.SortStableFunc(addresses, func(a, b v1.NodeAddress) int { return cmp.Compare(a.Type, b.Type) })
	return addresses
}
