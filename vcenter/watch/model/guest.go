package model

import (
	"fmt"
	"net/netip"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/inventory"
)

// Properties under the guest's control.
const (
	GuestHostName = "guest.hostName"
	guestNet      = "guest.net"
	guestAddress  = "guest.ipAddress"
	GuestMetadata = `config.extraConfig["` + guestinfo.Key + `"]`
)

// Bounds on a guest's report. VMware Tools report at most 16 interfaces with 2,048 addresses each
// (nicInfo.x of open-vm-tools), but a guest may run other software. A VM has at most 10 interfaces.
const (
	maxInterfaces = 64
	// maxAddresses limits the addresses of all interfaces with a virtual device together.
	maxAddresses = 512
	// maxGuestMade limits the addresses of all other interfaces together. kube-proxy in IPVS mode creates thousands; none
	// is a Node's.
	maxGuestMade   = 64
	maxAddressText = 64
	// maxNetworkName is in bytes, like maxName.
	maxNetworkName = 320
	maxMAC         = 64
)

type guestNetwork struct {
	nics    []inventory.NIC
	partial bool
	// ignored is the reason to ignore the whole report.
	ignored error
}

// guestNetworkOf ignores a whole report that exceeds a bound, because the excess might decide. Only
// guest-made interfaces are cut.
func guestNetworkOf(value any) guestNetwork {
	guest, _ := value.(types.ArrayOfGuestNicInfo)
	remaining := maxAddresses
	remainingGuestMade := maxGuestMade
	interfaces := 0
	r := guestNetwork{nics: make([]inventory.NIC, 0, min(len(guest.GuestNicInfo), maxInterfaces))}
	for i := range guest.GuestNicInfo {
		n := &guest.GuestNicInfo[i]
		if n.DeviceConfigId == -1 {
			r.addGuestMade(n, &remainingGuestMade)
			continue
		}
		remaining -= reportedBy(n)
		interfaces++
		switch {
		case interfaces > maxInterfaces:
			return guestNetwork{ignored: fmt.Errorf("VMware Tools report more than %d network interfaces, so all are ignored: remove the interfaces that the guest does not need", maxInterfaces)}
		case remaining < 0:
			return guestNetwork{ignored: fmt.Errorf("VMware Tools report more than %d addresses, so all are ignored: remove the addresses that the guest does not need", maxAddresses)}
		case len(n.Network) > maxNetworkName:
			return guestNetwork{ignored: fmt.Errorf("VMware Tools report an interface on a network with a name of %d bytes, so all interfaces are ignored", len(n.Network))}
		}
		r.nics = append(r.nics, nicOf(n))
	}
	return r
}

// reportedBy counts an address once if it is reported in both forms.
func reportedBy(n *types.GuestNicInfo) int {
	if n.IpConfig == nil {
		return len(n.IpAddress)
	}
	return max(len(n.IpAddress), len(n.IpConfig.IpAddress))
}

func (r *guestNetwork) addGuestMade(n *types.GuestNicInfo, remaining *int) {
	if *remaining -= max(1, reportedBy(n)); *remaining < 0 {
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
	var addresses, unusable, secondary addressSet
	for _, s := range n.IpAddress {
		addresses.add(s)
	}
	if n.IpConfig != nil {
		for i := range n.IpConfig.IpAddress {
			c := &n.IpConfig.IpAddress[i]
			addresses.add(c.IpAddress)
			switch usabilityOf(c) {
			case isUnusable:
				unusable.add(c.IpAddress)
			case isSecondary:
				secondary.add(c.IpAddress)
			}
		}
	}
	nic.Addresses = addresses.list
	nic.Unusable = unusable.list
	nic.Secondary = secondary.list
	return nic
}

type addressSet struct {
	list []netip.Addr
	seen map[netip.Addr]bool
}

func (l *addressSet) add(s string) {
	a, ok := addressOf(s)
	if !ok || l.seen[a] {
		return
	}
	if l.seen == nil {
		l.seen = map[netip.Addr]bool{}
	}
	l.seen[a] = true
	l.list = append(l.list, a)
}

func addressOf(s string) (netip.Addr, bool) {
	if len(s) > maxAddressText {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a.WithZone(""), err == nil
}

// usability is the guest's report whether an address is usable, which older Tools lack.
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
	// A virtual IP has a full-length prefix. DHCPv6 leases have it, too.
	a, ok := addressOf(c.IpAddress)
	isVirtual := ok && int(c.PrefixLength) == a.Unmap().BitLen() && c.Origin != string(types.NetIpConfigInfoIpAddressOriginDhcp)
	if isVirtual || c.Origin == string(types.NetIpConfigInfoIpAddressOriginRandom) {
		return isSecondary
	}
	return isFine
}

// staticOf returns the addresses in the VM's metadata, none if it is invalid.
func staticOf(value any) []netip.Addr {
	if option, whole := value.(types.OptionValue); whole {
		value = option.Value
	}
	text, _ := value.(string)
	addresses, _ := guestinfo.Addresses(text)
	return addresses
}

// HostNameOf returns the host name that a guest reports, empty if it is invalid.
func HostNameOf(value any) string {
	name, _ := value.(string)
	if !inventory.IsHostName(name) {
		return ""
	}
	return name
}
