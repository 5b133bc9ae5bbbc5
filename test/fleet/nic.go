package fleet

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/types"
)

const firstNICKey = 4000 // device key of a VM's first network adapter in vCenter

// escapes replaces three characters of network names in guest.net, as vCenter does.
var escapes = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// nics returns the network adapters of a VM as Tools report them, and the virtual devices of
// those adapters that are not internal to the guest.
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

// parseIP parses ADDRESS or ADDRESS/BITS. The default prefix length is 24 for IPv4 and 64 for
// IPv6.
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

// address returns the default address of the n-th VM, in the /16 network of its vCenter.
func (b *inventory) address(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(b.index), byte(n / 250), byte(n%250 + 1)})
}

// derivedMAC returns a MAC address in the range that vCenter assigns.
func derivedMAC(id string, i int) string {
	sum := uuid.NewSHA1(uuid.NameSpaceOID, []byte(id))
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", sum[1]&0x3f, sum[2], sum[3]+byte(i))
}
