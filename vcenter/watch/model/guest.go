package model

import (
	"fmt"
	"net/netip"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/inventory"
)

// The properties that a guest decides.
const (
	GuestHostName = "guest.hostName"
	guestNet      = "guest.net"
	guestAddress  = "guest.ipAddress"
	GuestMetadata = `config.extraConfig["` + guestinfo.Key + `"]`
)

// These bound what is taken of a guest's report. VMware Tools report at most 16
// interfaces with 2,048 addresses each (nicInfo.x of open-vm-tools), but the guest may
// have other ones. vSphere gives a machine 10 interfaces.
const (
	maxInterfaces = 64
	// maxAddresses is of all interfaces with a virtual device together.
	maxAddresses = 512
	// maxGuestMade is of all others together, which may have thousands, such as those of
	// kube-proxy's IPVS mode. They are never a Node's.
	maxGuestMade = 64
	// maxAddressText is longer than an address with its zone, maxNetworkName than the 80
	// characters that vCenter lets a network's name have, and maxMAC than any.
	maxAddressText = 64
	maxNetworkName = 320
	maxMAC         = 64
)

// guestNetwork is what is kept of the interfaces that VMware Tools report.
type guestNetwork struct {
	nics []inventory.NIC
	// partial says that interfaces which the guest has made have more addresses.
	partial bool
	// refused is why nothing of the report counts, nil if it does.
	refused error
}

// guestNetworkOf takes what is needed of the interfaces that VMware Tools report. Of more
// than it takes it takes nothing: whatever were left out might be what decides.
func guestNetworkOf(value any) guestNetwork {
	guest, _ := value.(types.ArrayOfGuestNicInfo)
	left := maxAddresses
	leftGuestMade := maxGuestMade
	interfaces := 0
	r := guestNetwork{nics: make([]inventory.NIC, 0, min(len(guest.GuestNicInfo), maxInterfaces))}
	for i := range guest.GuestNicInfo {
		n := &guest.GuestNicInfo[i]
		if n.DeviceConfigId == -1 {
			r.guestMade(n, &leftGuestMade)
			continue
		}
		left -= reportedBy(n)
		interfaces++
		switch {
		case interfaces > maxInterfaces:
			return guestNetwork{refused: fmt.Errorf("VMware Tools report more than %d network interfaces, so none of them counts: take away those that the guest does not need", maxInterfaces)}
		case left < 0:
			return guestNetwork{refused: fmt.Errorf("VMware Tools report more than %d addresses, so none of them counts: take away those that the guest does not need", maxAddresses)}
		case len(n.Network) > maxNetworkName:
			return guestNetwork{refused: fmt.Errorf("VMware Tools report an interface on a network with a name of %d bytes, so none of them counts", len(n.Network))}
		}
		r.nics = append(r.nics, nicOf(n))
	}
	return r
}

// reportedBy returns how many addresses an interface is reported with; one that is
// reported in both ways counts once.
func reportedBy(n *types.GuestNicInfo) int {
	if n.IpConfig == nil {
		return len(n.IpAddress)
	}
	return max(len(n.IpAddress), len(n.IpConfig.IpAddress))
}

// guestMade takes an interface that the guest has made, as far as there is room for it.
func (r *guestNetwork) guestMade(n *types.GuestNicInfo, left *int) {
	if *left -= max(1, reportedBy(n)); *left < 0 {
		r.partial = true
		return
	}
	nic := nicOf(n)
	if len(nic.Network) > maxNetworkName {
		nic.Network = ""
	}
	r.nics = append(r.nics, nic)
}

func nicOf(n *types.GuestNicInfo) inventory.NIC {
	nic := inventory.NIC{Network: n.Network, DeviceConfigID: n.DeviceConfigId}
	if len(n.MacAddress) <= maxMAC {
		nic.MAC = n.MacAddress
	}
	var all, unusable, secondary addressSet
	for _, s := range n.IpAddress {
		all.add(s)
	}
	if n.IpConfig != nil {
		for i := range n.IpConfig.IpAddress {
			c := &n.IpConfig.IpAddress[i]
			all.add(c.IpAddress)
			switch usabilityOf(c) {
			case isUnusable:
				unusable.add(c.IpAddress)
			case isSecondary:
				secondary.add(c.IpAddress)
			}
		}
	}
	nic.Addresses = all.list
	nic.Unusable = unusable.list
	nic.Secondary = secondary.list
	return nic
}

// addressSet is a list of addresses, each once. What is no address is left out: nothing
// that a Node can be reached by.
type addressSet struct {
	list []netip.Addr
	has  map[netip.Addr]bool
}

func (l *addressSet) add(s string) {
	a, ok := addressOf(s)
	if !ok || l.has[a] {
		return
	}
	if l.has == nil {
		l.has = map[netip.Addr]bool{}
	}
	l.has[a] = true
	l.list = append(l.list, a)
}

func addressOf(s string) (netip.Addr, bool) {
	if len(s) > maxAddressText {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a.WithZone(""), err == nil
}

// usability is what the guest says of an address. Older Tools say nothing.
type usability int

const (
	isFine usability = iota
	isUnusable
	isSecondary
)

func usabilityOf(c *types.NetIpConfigInfoIpAddress) usability {
	switch types.NetIpConfigInfoIpAddressStatus(c.State) {
	case types.NetIpConfigInfoIpAddressStatusInvalid,
		types.NetIpConfigInfoIpAddressStatusDuplicate,
		types.NetIpConfigInfoIpAddressStatusTentative:
		return isUnusable
	case types.NetIpConfigInfoIpAddressStatusDeprecated,
		types.NetIpConfigInfoIpAddressStatusInaccessible:
		return isSecondary
	}
	// A virtual IP has the prefix of a single address. DHCPv6 leases have it too.
	a, ok := addressOf(c.IpAddress)
	floats := ok && int(c.PrefixLength) == a.Unmap().BitLen() && c.Origin != string(types.NetIpConfigInfoIpAddressOriginDhcp)
	if floats || c.Origin == string(types.NetIpConfigInfoIpAddressOriginRandom) {
		return isSecondary
	}
	return isFine
}

// staticOf returns the addresses in a machine's metadata, none where that cannot be read: a bounded text, which
// takes some milliseconds at most.
func staticOf(value any) []netip.Addr {
	if option, whole := value.(types.OptionValue); whole {
		value = option.Value
	}
	text, _ := value.(string)
	addresses, _ := guestinfo.Addresses(text)
	return addresses
}

// HostNameOf returns the host name in a guest's report, empty if it is invalid.
func HostNameOf(value any) string {
	name, _ := value.(string)
	if !inventory.IsHostName(name) {
		return ""
	}
	return name
}
