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

// A VM contains the details of a Node's VM.
type VM struct {
	Ref topology.Ref
	// UUID is the BIOS UUID, InstanceUUID config.instanceUuid. They are zero if the configuration cannot be read.
	UUID         UUID
	InstanceUUID UUID
	Name         string
	// HostName is empty unless IsHostName accepts it.
	HostName string
	// InventoryPath is e.g. "/dc1/vm/folder/name", shorter if ancestors cannot be read, and of bounded length.
	InventoryPath string
	// Datacenter is an inventory path, empty if unknown.
	Datacenter string

	Power Power
	// WasOff reports whether Power is unknown and the last known state was off.
	WasOff bool
	// Secondary marks a Fault Tolerance secondary, which has its primary's name and UUID and is never a Node's VM.
	Secondary bool

	CPUs     int32
	MemoryMB int32
	// GuestID is the configured guest OS, e.g. "ubuntu64Guest".
	GuestID string
	// NICs and their addresses are in the order of VMware Tools' report.
	NICs []NIC
	// Partial reports whether NICs lacks addresses of interfaces that the guest has created.
	Partial bool
	// NICsError means that the report has too many interfaces and is ignored.
	NICsError error
	// GuestAddress is the address in a report without interfaces.
	GuestAddress netip.Addr
	// Static are the addresses in guestinfo.metadata. The VM may not use them.
	Static []netip.Addr
	// Paths are in the order in which placement tries them.
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
