package addresses

import (
	"fmt"
	"net/netip"

	"vzones/internal/quote"
)

// Rule is the reason for which an address was chosen or dropped.
type Rule uint8

// The rules. Those from Subnet on have chosen the address.
const (
	// NotChosen: nothing is wrong with the address, and another was chosen, or
	// none was wanted.
	NotChosen Rule = iota
	// GuestMade: the interface has no virtual device; the guest has made it.
	GuestMade
	// Loopback, LinkLocal, Unspecified and Multicast addresses lead to no Node.
	Loopback
	LinkLocal
	Unspecified
	Multicast
	// LeftOut: the interface is on a network that does not count.
	LeftOut
	// Unusable: the guest says that the address is invalid or a duplicate.
	Unusable
	// OtherFamily: the address is of a family that is not configured.
	OtherFamily
	// Excluded: the address is in an excluded subnet.
	Excluded
	// Claimed: the address is another Node's.
	Claimed
	// NotNodeIP: the Node gets an address of --node-ip of the same kind, and then only that.
	NotNodeIP

	// Subnet: the address is in a configured subnet.
	Subnet
	// Network: the interface is on the configured network.
	Network
	// Kubelet: the address is the kubelet's --node-ip.
	Kubelet
	// Kept: nothing else decides, and the Node has the address already.
	Kept
	// Static: nothing else decides, and the machine's metadata has the address.
	Static
	// First: nothing else decides, and the address is the first.
	First
)

var ruleNames = [...]string{
	NotChosen: "not chosen", GuestMade: "interface made by the guest",
	Loopback: "loopback", LinkLocal: "link-local", Unspecified: "unspecified", Multicast: "multicast",
	LeftOut: "network left out", Unusable: "unusable", OtherFamily: "other family", Excluded: "excluded subnet", Claimed: "another Node's",
	NotNodeIP: "not in --node-ip",
	Subnet:    "subnet", Network: "network", Kubelet: "kubelet", Kept: "kept", Static: "static", First: "first",
}

// String returns a short name, in words.
func (r Rule) String() string { return ruleNames[r] }

// Reason is a rule and, for Subnet and Excluded, which subnet.
type Reason struct {
	Rule   Rule
	Subnet netip.Prefix
}

// Chosen reports whether the address was chosen.
func (r Reason) Chosen() bool { return r.Rule >= Subnet }

// String returns the rule's name with its subnet.
func (r Reason) String() string {
	if r.Subnet.IsValid() {
		return r.Rule.String() + " " + r.Subnet.String()
	}
	return r.Rule.String()
}

// A Result is the choice about one address of a machine.
type Result struct {
	Address netip.Addr
	// Network and Device are those of the interface, see inventory.NIC. They
	// are empty if VMware Tools do not report the address.
	Network string
	Device  int32
	// Assumed reports whether VMware Tools do not report the address, but nothing speaks against
	// it: it is the kubelet's --node-ip, or the Node and the machine's metadata have it.
	Assumed bool
	// Static reports whether the machine's metadata has the address.
	Static bool

	// Internal and External say why the address is the Node's internal or
	// external IP, or why not.
	Internal, External Reason

	// order is the place among the configured addresses.
	order int
}

// String returns the result on one line.
func (v Result) String() string {
	from := fmt.Sprintf("on %s (%d)", quote.Value(v.Network), v.Device)
	if v.Assumed {
		from = "of the kubelet"
		if v.Static {
			from = "of the machine's metadata"
		}
	}
	if v.Internal == v.External && !v.Internal.Chosen() {
		return fmt.Sprintf("%s %s: %s", v.Address, from, v.Internal)
	}
	return fmt.Sprintf("%s %s: internal %s, external %s", v.Address, from, v.Internal, v.External)
}

// drop says why an address never counts, whatever is configured.
func drop(a netip.Addr) Rule {
	switch {
	case a.IsLoopback():
		return Loopback
	case a.IsLinkLocalUnicast():
		return LinkLocal
	case a.IsUnspecified():
		return Unspecified
	case a.IsMulticast():
		return Multicast
	}
	return NotChosen
}

// reported reports whether an address shows that VMware Tools know those of its
// family, even if this one does not count.
func (v *Result) reported() bool {
	return !v.Assumed && v.Internal.Rule != GuestMade && drop(v.Address) == NotChosen
}
