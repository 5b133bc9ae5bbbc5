package topology

// Inventory is a part of the inventory whose name can be a label's value.
type Inventory string

// What a machine is in, whatever paths are walked for tags. Each is the nearest
// one above the machine.
const (
	// InventoryVCenter is the name of the vCenter's entry in the configuration.
	InventoryVCenter Inventory = "vcenter"
	// InventoryDatacenter is the datacenter.
	InventoryDatacenter Inventory = "datacenter"
	// InventoryCluster is the cluster. A standalone host is in none, although
	// vSphere puts a compute resource of the host's name above it.
	InventoryCluster Inventory = "cluster"
	// InventoryHost is the host.
	InventoryHost Inventory = "host"
	// InventoryPool is the resource pool or vApp. The pool that vSphere makes
	// for each cluster and standalone host, Resources, does not count.
	InventoryPool Inventory = "resourcePool"
	// InventoryFolder is the VM folder. The one that vSphere makes for each
	// datacenter, vm, does not count.
	InventoryFolder Inventory = "folder"
	// InventoryFaultDomain is the vSAN fault domain of the host. The one that vSAN
	// makes for each host without one does not count.
	InventoryFaultDomain Inventory = "vsanFaultDomain"
)

// Inventories returns all there are, from the widest to the nearest.
func Inventories() []Inventory {
	return []Inventory{InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryHost, InventoryPool, InventoryFolder, InventoryFaultDomain}
}

// Nested reports whether what has its name from here is a part of a zone, and of the
// levels before it, unless the configuration says otherwise.
func (i Inventory) Nested() bool {
	switch i {
	case InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryPool, InventoryFolder:
		return false // they are wider than a zone, or go across
	}
	return true
}
