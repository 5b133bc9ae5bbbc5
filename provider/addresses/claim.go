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

// A Claim is the claim of another Node to an address.
type Claim struct {
	// Node is that Node's name.
	Node string
	// Void reports whether nothing but that Node's own statement supports the claim, or its machine is
	// known not to have the address any more. Such an address may be given to another Node, after others
	// of its interface.
	Void bool
	// Why says in words why the claim is not void.
	Why string
}

// ClaimedBy returns the addresses that a Node claims: for each family the first
// internal and the first external IP in its status, and what its kubelet was given as
// --node-ip. It is a handful, whatever the kubelet writes.
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

// usable are addresses that a Node can have, each once.
type usable []netip.Addr

func (u *usable) add(some ...netip.Addr) {
	for _, a := range some {
		if a.IsValid() && drop(a) == NotChosen && !slices.Contains(*u, a) {
			*u = append(*u, a)
		}
	}
}

// Backing is a machine's answer about an address that its Node claims.
type Backing int

const (
	// Unclear means that the machine may have the address: it reports none of that family although it is not
	// powered off, or its report or metadata is not known completely.
	Unclear Backing = iota
	// Backed means that the machine reports the address, or its metadata has it.
	Backed
	// Unbacked means that the machine has other addresses, or is powered off.
	Unbacked
)

// Back returns what a machine says of an address that its Node claims, and why in words.
func Back(m *inventory.Machine, a netip.Addr) (Backing, string) {
	switch {
	case has(m.Static, a):
		return Backed, "its machine's metadata has it"
	case m.GuestAddress == a:
		return Backed, "its machine reports it"
	}
	others := false
	for i := range m.NICs {
		for _, one := range m.NICs[i].Addresses {
			one = one.Unmap()
			if one == a {
				return Backed, "its machine reports it"
			}
			others = others || m.NICs[i].DeviceConfigID != -1 && drop(one) == NotChosen && familyOf(one) == familyOf(a)
		}
	}
	switch {
	case m.Power == inventory.PowerOff:
		return Unbacked, "its machine is powered off"
	case m.Partial:
		return Unclear, "its machine reports more addresses than are looked at"
	case others:
		return Unbacked, "its machine has others"
	}
	return Unclear, "its machine reports no address now"
}

// Candidates returns the addresses to which the claims of other Nodes count: those of
// interfaces with a virtual device, and those that the kubelet was given.
func (in *Input) Candidates() []netip.Addr {
	all := ofDevices(in.NICs)
	all.add(provided(in.Provided)...)
	return all
}

// IsOfFamily reports whether an address is of a configured family.
func (in *Input) IsOfFamily(a netip.Addr) bool { return slices.Contains(in.Families, familyOf(a)) }

// Reported returns the addresses that a machine reports and that its Node may get: those of interfaces with a virtual
// device, or the address without an interface.
func Reported(m *inventory.Machine) []netip.Addr {
	all := ofDevices(m.NICs)
	all.add(m.GuestAddress)
	return all
}

// ofDevices returns the addresses of interfaces with a virtual device.
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

// IsWithout reports whether a Node has no address of the family of an address yet. The addresses of a Node that waits
// are its kubelet's statement.
func IsWithout(node *v1.Node, a netip.Addr) bool {
	return nodeinfo.IsUninitialized(node) ||
		!first(node.Status.Addresses, v1.NodeInternalIP, familyOf(a)).IsValid() && !first(node.Status.Addresses, v1.NodeExternalIP, familyOf(a)).IsValid()
}

// provided returns the addresses in a kubelet's annotation, at most two. If there are more, it returns none,
// because no kubelet writes that.
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

// first returns the first address of a kind and a family, the zero Addr if none.
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

// parse reads an address. One with a zone is none that a Node can have: what a kubelet
// writes behind the percent sign has any length.
func parse(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil && a.Zone() == ""
}

// has returns the address of a kind and a family that the Node has already.
func (in *Input) has(kind v1.NodeAddressType, family string) netip.Addr {
	return first(in.Has, kind, family)
}

// formerOf returns the addresses in a Node's annotation nodeinfo.KeyFormerAddresses.
func formerOf(node *v1.Node) (all []v1.NodeAddress) {
	for _, part := range strings.SplitN(node.Annotations[nodeinfo.KeyFormerAddresses], ",", 5) {
		kind, a, _ := strings.Cut(part, "=")
		all = append(all, v1.NodeAddress{Type: v1.NodeAddressType(kind), Address: a})
	}
	return all
}

// Former returns the annotation nodeinfo.KeyFormerAddresses of a Node that gets addresses. For each type and
// family it has the first address that the machine stopped reporting while an interface had no usable one, until
// the Node gets that back. An address that another machine took over while its interface kept others is none.
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

// claim returns the claim of another Node to an address, unless the Node itself has
// that already: nobody takes an address from a Node that runs.
func (in *Input) claim(a netip.Addr) (Claim, bool) {
	claim, claimed := in.Claims[a]
	if !claimed || a == in.has(v1.NodeInternalIP, familyOf(a)) || a == in.has(v1.NodeExternalIP, familyOf(a)) {
		return Claim{}, false
	}
	return claim, true
}

// unreported returns results about addresses that the Node and the machine's metadata have, and that VMware
// Tools do not report now.
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

// familyOf returns the family of an address, as the configuration names it.
func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// Written returns what the framework's node controller makes of a Node's
// addresses before it writes them: where they have no host name, the Node keeps
// its own; an address that the kubelet was given comes first, as the only one
// of its type. The error is the framework's, which writes nothing then.
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

// Unchanged reports whether the Node already has what the framework would write.
// The framework itself compares one address of each type, and so writes a Node
// with two internal IPs again and again. The order of the types does not count:
// the API server changes it. That of the addresses of a type does, for the first
// internal IP is the Node's primary one.
func Unchanged(node *v1.Node, addresses []v1.NodeAddress) bool {
	written, err := Written(node, addresses)
	return err == nil && slices.Equal(byType(written), byType(node.Status.Addresses))
}

func byType(addresses []v1.NodeAddress) []v1.NodeAddress {
	addresses = slices.Clone(addresses)
	slices.SortStableFunc(addresses, func(a, b v1.NodeAddress) int { return cmp.Compare(a.Type, b.Type) })
	return addresses
}
