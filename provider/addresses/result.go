package addresses

import (
	"fmt"
	"net/netip"

	"vzones/internal/quote"
)

// A Rule is the reason why an address was chosen or dropped.
type Rule uint8

// The rules. Those from Subnet on choose an address; those before it drop it, except NotChosen.
const (
	// NotChosen: the address is usable, but another address was chosen or none was needed.
	NotChosen Rule = iota
	// GuestMade: the interface has no virtual device.
	GuestMade
	Loopback
	LinkLocal
	Unspecified
	Multicast
	LeftOut
	// Unusable: the guest reports the address as invalid or a duplicate.
	Unusable
	OtherFamily
	Excluded
	Claimed
	// NotNodeIP: --node-ip replaces all other addresses of its type.
	NotNodeIP

	Subnet
	Network
	Kubelet
	// Kept: the Node already has the address.
	Kept
	Static
	First
)

var ruleNames = [...]string{
	NotChosen: "not chosen", GuestMade: "interface created by the guest",
	Loopback: "loopback", LinkLocal: "link-local", Unspecified: "unspecified", Multicast: "multicast",
	LeftOut: "network left out", Unusable: "unusable", OtherFamily: "other family", Excluded: "excluded subnet", Claimed: "another Node's",
	NotNodeIP: "not in --node-ip",
	Subnet:    "subnet", Network: "network", Kubelet: "kubelet", Kept: "kept", Static: "static", First: "first",
}

// String describes the rule.
func (r Rule) String() string { return ruleNames[r] }

// Reason is a rule with its subnet, if any.
type Reason struct {
	Rule   Rule
	Subnet netip.Prefix
}

// Chosen reports whether the rule chooses the address.
func (r Reason) Chosen() bool { return r.Rule >= Subnet }

// String describes the rule and its subnet.
func (r Reason) String() string {
	if r.Subnet.IsValid() {
		return r.Rule.String() + " " + r.Subnet.String()
	}
	return r.Rule.String()
}

// A Result is the decision about one address of a VM.
type Result struct {
	Address netip.Addr
	// These identify the interface, see inventory.NIC. They are empty if Assumed is set.
	Network string
	Device  int32
	// Assumed addresses are not reported by VMware Tools, but in --node-ip, or on the Node and in the VM's
	// metadata.
	Assumed bool
	Static  bool

	Internal, External Reason

	order int
}

// String describes the result.
func (v Result) String() string {
	origin := fmt.Sprintf("on %s (%d)", quote.Value(v.Network), v.Device)
	if v.Assumed {
		origin = "of the kubelet"
		if v.Static {
			origin = "of the VM's metadata"
		}
	}
	if v.Internal == v.External && !v.Internal.Chosen() {
		return fmt.Sprintf("%s %s: %s", v.Address, origin, v.Internal)
	}
	return fmt.Sprintf("%s %s: internal %s, external %s", v.Address, origin, v.Internal, v.External)
}

// forbiddenBy returns the rule that forbids an address in every configuration, or NotChosen.
func forbiddenBy(a netip.Addr) Rule {
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

// isReported also accepts dropped addresses, which show that VMware Tools report the family.
func (v *Result) isReported() bool {
	return !v.Assumed && v.Internal.Rule != GuestMade && forbiddenBy(v.Address) == NotChosen
}
