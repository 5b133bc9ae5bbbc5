package inventory

import (
	"net/netip"

	"vzones/topology"
)

// Power is a machine's power state.
type Power string

// The power states. PowerUnknown is a state that could not be read.
const (
	PowerUnknown   Power = ""
	PowerOn        Power = "poweredOn"
	PowerOff       Power = "poweredOff"
	PowerSuspended Power = "suspended"
)

// IsOff reports whether a machine is known not to run.
func (p Power) IsOff() bool { return p == PowerOff || p == PowerSuspended }

// A Machine is everything that is read of a Node's virtual machine.
type Machine struct {
	Ref topology.Ref
	// UUID is the BIOS UUID, zero if the configuration cannot be read.
	UUID UUID
	// InstanceUUID tells apart the VMs of one vCenter that have one BIOS UUID (config.instanceUuid). A move
	// to another vCenter keeps it; a clone and a replica get another one. It is zero if it cannot be read.
	InstanceUUID UUID
	// Name is the VM's name. HostName is the guest's, for which IsHostName holds. It is empty while VMware Tools
	// report none or an invalid one.
	Name     string
	HostName string
	// InventoryPath is the machine's, "/dc1/vm/folder/name", on one line and of a bounded
	// length: whoever owns the machine names it. It is shorter where ancestors cannot
	// be read.
	InventoryPath string
	// Datacenter is the inventory path of the machine's datacenter, empty if
	// it cannot be read.
	Datacenter string

	Power Power
	// WasOff reports whether Power is unknown and the machine was off when that was last known.
	WasOff bool
	// Secondary reports whether the machine is the secondary of a Fault Tolerance pair. It has the name
	// and the UUID of the primary and runs beside it, so it is not a Node's machine, but while it is
	// there the machine exists.
	Secondary bool

	CPUs     int32
	MemoryMB int32
	// GuestID is the configured guest OS, e.g. "ubuntu64Guest".
	GuestID string
	// NICs are in the order in which VMware Tools report them; none while they
	// report nothing.
	NICs []NIC
	// Partial reports whether NICs lacks addresses of interfaces that the guest has
	// made. Those of other interfaces are complete.
	Partial bool
	// Refused is why there are no NICs though VMware Tools report some: the guest has
	// more than are looked at. It is nil otherwise.
	Refused error
	// GuestAddress is the address that VMware Tools report without an interface, where they
	// report no interface at all. It is the zero Addr otherwise.
	GuestAddress netip.Addr
	// Static are the addresses that the machine is configured with, in the
	// order of its guestinfo.metadata. It need not have them.
	Static []netip.Addr
	// Paths lead upwards from the machine, in the order in which placement
	// tries them.
	Paths []topology.Path
}

// A NIC is a network interface of the guest.
type NIC struct {
	// Network is the name of the network or port group.
	Network string
	// DeviceConfigID is the virtual device's key, -1 for an interface that has
	// none, such as a bridge made inside the guest.
	DeviceConfigID int32
	MAC            string
	// Addresses are in the order in which VMware Tools report them.
	Addresses []netip.Addr
	// Unusable are those of Addresses that nothing can be reached by: the guest
	// says that they are invalid, a duplicate of another machine's, or still
	// being checked for that.
	Unusable []netip.Addr
	// Secondary are those of Addresses that are not what the interface is known
	// by: deprecated and temporary ones, those of an interface that is down, and
	// addresses with a prefix of 32 bits (IPv4) or 128 bits (IPv6) that DHCP has not
	// assigned: virtual IPs, which move between VMs.
	Secondary []netip.Addr
}
