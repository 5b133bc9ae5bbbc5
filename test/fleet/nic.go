package fleet

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/types"
)

const firstNICKey = 4000 // vCenter's key of a machine's first network adapter

// escapes are what vCenter puts into guest.net for three characters in the name of a network.
var escapes = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// nics makes the network adapters of a machine: what Tools report, and the
// devices of those that are not the guest's own.
func (b *inventory) nics(spec *VMSpec, id string) ([]types.GuestNicInfo, []types.BaseVirtualDevice) {
	specs := spec.NICs
	if specs == nil {
		specs = make([]NICSpec, 1)
	}
	var guest []types.GuestNicInfo
	var devices []types.BaseVirtualDevice
	for i, s := range specs {
		nic := types.GuestNicInfo{
			Network:        escapes.Replace(cmp.Or(s.Network, "VM Network")),
			MacAddress:     cmp.Or(s.MAC, derivedMAC(id, i)),
			Connected:      true,
			DeviceConfigId: int32(firstNICKey + i),
		}
		if s.DeviceConfigID != nil {
			nic.DeviceConfigId = *s.DeviceConfigID
		}
		if s.IPs == nil && i == 0 {
			s.IPs = []string{b.address(b.made).String()}
		}
		setIPs(&nic, s.IPs)
		guest = append(guest, nic)
		if nic.DeviceConfigId >= 0 {
			devices = append(devices, adapter(nic, i))
		}
	}
	return guest, devices
}

func adapter(nic types.GuestNicInfo, i int) types.BaseVirtualDevice {
	card := new(types.VirtualVmxnet3)
	card.Key = nic.DeviceConfigId
	card.MacAddress = nic.MacAddress
	card.DeviceInfo = &types.Description{Label: fmt.Sprintf("Network adapter %d", i+1), Summary: nic.Network}
	backing := new(types.VirtualEthernetCardNetworkBackingInfo)
	backing.DeviceName = nic.Network
	card.Backing = backing
	card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: true}
	return card
}

// setIPs gives an interface its addresses; those that are none are left out.
func setIPs(nic *types.GuestNicInfo, ips []string) {
	nic.IpAddress = nil
	nic.IpConfig = new(types.NetIpConfigInfo)
	for _, ip := range ips {
		p, err := parseIP(ip)
		if err != nil {
			continue
		}
		nic.IpAddress = append(nic.IpAddress, p.Addr().String())
		nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
			IpAddress: p.Addr().String(), PrefixLength: int32(p.Bits()), State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
		})
	}
}

// parseIP parses ADDRESS or ADDRESS/BITS. Without bits, the prefix of an IPv4 address has 24 and that of an IPv6
// address 64.
func parseIP(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		return netip.ParsePrefix(s)
	}
	a, err := netip.ParseAddr(s)
	bits := 24
	if a.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(a, bits), err
}

// address is the default address of the n-th machine, in a /16 of its vCenter.
func (b *inventory) address(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(b.index), byte(n / 250), byte(n%250 + 1)})
}

// derivedMAC makes an address in the range that vCenter gives out.
func derivedMAC(id string, i int) string {
	sum := uuid.NewSHA1(uuid.NameSpaceOID, []byte(id))
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", sum[1]&0x3f, sum[2], sum[3]+byte(i))
}
