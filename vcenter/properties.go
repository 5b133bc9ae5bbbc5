package vcenter

import (
	"net/netip"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// properties are the properties of one object that could be read. A property
// that is unset or not readable is not in it.
type properties map[string]any

func propertiesOf(o *types.ObjectContent) properties {
	p := make(properties, len(o.PropSet))
	for _, d := range o.PropSet {
		p[d.Name] = d.Val
	}
	return p
}

func (p properties) string(name string) string {
	s, _ := p[name].(string)
	return s
}

func (p properties) bool(name string) bool {
	b, _ := p[name].(bool)
	return b
}

func (p properties) int32(name string) int32 {
	n, _ := p[name].(int32)
	return n
}

func (p properties) ref(name string) (types.ManagedObjectReference, bool) {
	r, ok := p[name].(types.ManagedObjectReference)
	return r, ok
}

func (p properties) power() inventory.Power {
	s, _ := p["runtime.powerState"].(types.VirtualMachinePowerState)
	switch s {
	case types.VirtualMachinePowerStatePoweredOn:
		return inventory.PowerOn
	case types.VirtualMachinePowerStatePoweredOff:
		return inventory.PowerOff
	case types.VirtualMachinePowerStateSuspended:
		return inventory.PowerSuspended
	}
	return inventory.PowerUnknown
}

// connected says whether the vCenter reaches the machine through its host.
func (p properties) connected() bool {
	s, ok := p["runtime.connectionState"].(types.VirtualMachineConnectionState)
	return ok && s == types.VirtualMachineConnectionStateConnected
}

func (p properties) nics() []inventory.NIC {
	guest, _ := p["guest.net"].(types.ArrayOfGuestNicInfo)
	var nics []inventory.NIC
	for _, n := range guest.GuestNicInfo {
		nic := inventory.NIC{Network: n.Network, DeviceConfigID: n.DeviceConfigId}
		for _, s := range n.IpAddress {
			// What is no address is nothing that a Node can be reached by.
			if a, err := netip.ParseAddr(s); err == nil {
				nic.Addresses = append(nic.Addresses, a.WithZone(""))
			}
		}
		nics = append(nics, nic)
	}
	return nics
}
