package inventory

import (
	"net/netip"

	"vzones/topology"
)

// Power is a VM's power state.
type Power string

// The power states. PowerUnknown means that the state cannot be read.
const (
	PowerUnknown   Power = ""
	PowerOn        Power = "poweredOn"
	PowerOff       Power = "poweredOff"
	PowerSuspended Power = "suspended"
)

// IsOff reports whether a VM is known not to run.
func (p Power) IsOff() bool { return p == PowerOff || p == PowerSuspended }

// A Machine contains the details of a Node's VM.
type Machine struct {
	Ref topology.Ref
	// UUID is the BIOS UUID, zero if the configuration cannot be read.
	UUID UUID
	// InstanceUUID is config.instanceUuid, zero if it cannot be read. It distinguishes VMs with one BIOS UUID
	// in a vCenter. A move to another vCenter keeps it; a clone or replica gets a new UUID.
	InstanceUUID UUID
	Name         string
	// HostName is the guest's host name if IsHostName accepts it, otherwise empty.
	HostName string
	// InventoryPath is "/dc1/vm/folder/name", shorter if ancestors cannot be read. It is one line of bounded
	// length, because the VM's owner chooses the name.
	InventoryPath string
	// Datacenter is the inventory path of the datacenter, empty if it cannot be read.
	Datacenter string

	Power Power
	// WasOff reports whether Power is unknown and the last known state was off.
	WasOff bool
	// Secondary reports whether the VM is a Fault Tolerance secondary, with the name and UUID of its primary.
	// It is never a Node's VM, but while it exists, the VM exists.
	Secondary bool

	CPUs     int32
	MemoryMB int32
	// GuestID is the configured guest OS, e.g. "ubuntu64Guest".
	GuestID string
	// NICs and their addresses are in the order of VMware Tools' report, empty without a report.
	NICs []NIC
	// Partial reports whether NICs lacks addresses of interfaces that the guest has created.
	Partial bool
	// Refused is the reason NICs is empty despite a report: the guest has too many interfaces.
	Refused error
	// GuestAddress is the address that VMware Tools report without any interface, otherwise the zero Addr.
	GuestAddress netip.Addr
	// Static are the addresses configured in guestinfo.metadata, in its order. The VM may not use them.
	Static []netip.Addr
	// Paths lead upwards from the VM, in the order in which placement tries them.
	Paths []topology.Path
}

// A NIC is a network interface of the guest.
type NIC struct {
	Network string
	// DeviceConfigID is the key of the virtual device, -1 for an interface without a device.
	DeviceConfigID int32
	MAC            string
	Addresses      []netip.Addr
	// Unusable are the Addresses that the guest reports as invalid, duplicate or tentative.
	Unusable []netip.Addr
	// Secondary are the Addresses that do not identify the interface: deprecated or temporary addresses,
	// addresses of an interface that is down, and /32 or /128 addresses not assigned by DHCP, which are
	// virtual IPs that move between VMs.
	Secondary []netip.Addr
}
