package vcenter

import (
	"context"
	"hash/maphash"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/inventory"
)

// The properties that tell of a machine's addresses.
const (
	guestNet      = "guest.net"
	guestMetadata = `config.extraConfig["` + guestinfo.Key + `"]`
)

// static is what is kept of a machine's metadata.
type static struct {
	addresses  []netip.Addr
	unreadable error
	// digest tells whether the text has changed.
	digest uint64
}

var seed = maphash.MakeSeed()

// follow reads metadata, unless it is what s was made of.
func (s static) follow(value any) static {
	if option, whole := value.(types.OptionValue); whole {
		value = option.Value
	}
	text, _ := value.(string)
	digest := maphash.String(seed, text)
	if digest == s.digest {
		return s
	}
	addresses, err := guestinfo.Addresses(text)
	return static{addresses: addresses, unreadable: err, digest: digest}
}

// tellUnreadable logs which machines have metadata that cannot be read: once for
// each text, without a word of it. Such a machine has no configured addresses.
func (t *tree) tellUnreadable(ctx context.Context) {
	for _, ref := range t.unreadable {
		if err := t.objects[ref].static().unreadable; err != nil {
			klog.FromContext(ctx).V(2).Info("The addresses in the machine's "+guestinfo.Key+" do not count",
				"moid", ref.Value, "reason", err.Error())
		}
	}
	t.unreadable = nil
}

func (p properties) static() static {
	s, _ := p[guestMetadata].(static)
	return s
}

func (p properties) nics() []inventory.NIC {
	nics, _ := p[guestNet].([]inventory.NIC)
	return nics
}

// nicsOf takes what is needed of the interfaces that VMware Tools report.
func nicsOf(value any) []inventory.NIC {
	guest, _ := value.(types.ArrayOfGuestNicInfo)
	nics := make([]inventory.NIC, 0, len(guest.GuestNicInfo))
	for i := range guest.GuestNicInfo {
		n := &guest.GuestNicInfo[i]
		nic := inventory.NIC{Network: n.Network, DeviceConfigID: n.DeviceConfigId, MAC: n.MacAddress}
		for _, s := range n.IpAddress {
			nic.Addresses = appendAddress(nic.Addresses, s)
		}
		if n.IpConfig != nil {
			for i := range n.IpConfig.IpAddress {
				judge(&nic, &n.IpConfig.IpAddress[i])
			}
		}
		nics = append(nics, nic)
	}
	return nics
}

// appendAddress leaves out what is no address: nothing that a Node can be
// reached by.
func appendAddress(to []netip.Addr, s string) []netip.Addr {
	a, err := netip.ParseAddr(s)
	if a = a.WithZone(""); err != nil || slices.Contains(to, a) {
		return to
	}
	return append(to, a)
}

// judge takes over what the guest says of an address. Older Tools say nothing.
func judge(nic *inventory.NIC, c *types.NetIpConfigInfoIpAddress) {
	nic.Addresses = appendAddress(nic.Addresses, c.IpAddress)
	switch types.NetIpConfigInfoIpAddressStatus(c.State) {
	case types.NetIpConfigInfoIpAddressStatusInvalid,
		types.NetIpConfigInfoIpAddressStatusDuplicate,
		types.NetIpConfigInfoIpAddressStatusTentative:
		nic.Unusable = appendAddress(nic.Unusable, c.IpAddress)
	case types.NetIpConfigInfoIpAddressStatusDeprecated,
		types.NetIpConfigInfoIpAddressStatusInaccessible:
		nic.Secondary = appendAddress(nic.Secondary, c.IpAddress)
	default:
		a, err := netip.ParseAddr(c.IpAddress)
		floats := err == nil && a.Unmap().Is4() && c.PrefixLength == 32
		if floats || c.Origin == string(types.NetIpConfigInfoIpAddressOriginRandom) {
			nic.Secondary = appendAddress(nic.Secondary, c.IpAddress)
		}
	}
}
