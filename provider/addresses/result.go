package addresses

import (
	"fmt"
	"net/netip"

	"vzones/internal/quote"
)

// Rule is the reason why an address was chosen or dropped.
type Rule uint8

// The rules. Subnet and the rules below it choose an address; the rules above drop it.
const (
	// NotChosen: the address is usable, but another address was chosen or none was needed.
	NotChosen Rule = iota
	// GuestMade: the guest created the interface; it has no virtual device.
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
	// NotNodeIP: an address in --node-ip replaces all other addresses of its type.
	NotNodeIP

	Subnet
	Network
	Kubelet
	// Kept: the Node already has the address, and no rule above decides.
	Kept
	Static
	First
)

var ruleNames = [...]string{
	NotChosen: "not chosen", GuestMade: "interface made by the guest",
	Loopback: "loopback", LinkLocal: "link-local", Unspecified: "unspecified", Multicast: "multicast",
	LeftOut: "network left out", Unusable: "unusable", OtherFamily: "other family", Excluded: "excluded subnet", Claimed: "another Node's",
	NotNodeIP: "not in --node-ip",
	Subnet:    "subnet", Network: "network", Kubelet: "kubelet", Kept: "kept", Static: "static", First: "first",
}

// String returns the rule in words.
func (r Rule) String() string { return ruleNames[r] }

// Reason is a rule and, for Subnet and Excluded, the subnet.
type Reason struct {
	Rule   Rule
	Subnet netip.Prefix
}

// Chosen reports whether the rule chooses the address.
func (r Reason) Chosen() bool { return r.Rule >= Subnet }

// String returns the rule in words with its subnet.
func (r Reason) String() string {
	if r.Subnet.IsValid() {
		return r.Rule.String() + " " + r.Subnet.String()
	}
	return r.Rule.String()
}

// A Result is the decision about one address of a VM.
type Result struct {
	Address netip.Addr
	// Network and Device identify the interface, see inventory.NIC. They are empty if Assumed is set.
	Network string
	Device  int32
	// Assumed means that VMware Tools do not report the address. It is in --node-ip, or in the Node's status and the
	// VM's metadata.
	Assumed bool
	Static  bool

	Internal, External Reason

	order int
}

// String returns the result on one line.
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

// isReported reports whether the address shows that VMware Tools report its family, even if it was dropped.
func (v *Result) isReported() bool {
	return !v.Assumed && v.Internal.Rule != GuestMade && forbiddenBy(v.Address) == NotChosen
}
