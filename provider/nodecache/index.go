package nodecache

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/identity"
)

const (
	// addressIndex is the informer's index of all Nodes by the addresses that they
	// claim. It changes with a Node's addresses, which is seldom.
	addressIndex = "vzones/address"
	// machineIndex is the informer's index of all Nodes by what may say which machine they
	// run on: each form of the UUID, or the name of a Node without one.
	machineIndex = "vzones/machine"
)

// ByAddress returns the Nodes that claim an address, those of others too.
func (c *Cache) ByAddress(address string) ([]*v1.Node, error) {
	return c.byIndex(addressIndex, address)
}

// ByMachine returns the Nodes that may run on a machine by one form of its UUID, or by a
// NameKey.
func (c *Cache) ByMachine(key string) ([]*v1.Node, error) { return c.byIndex(machineIndex, key) }

func (c *Cache) byIndex(index, key string) ([]*v1.Node, error) {
	objects, err := c.shared.GetIndexer().ByIndex(index, key)
	if err != nil {
		return nil, err
	}
	nodes := make([]*v1.Node, 0, len(objects))
	for _, o := range objects {
		if n, ok := o.(*v1.Node); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// indexAddresses is the function of addressIndex.
func indexAddresses(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	claimed := addresses.ClaimedBy(n)
	keys := make([]string, len(claimed))
	for i, a := range claimed {
		keys[i] = a.String()
	}
	return keys, nil
}

// indexMachines is the function of machineIndex.
func indexMachines(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	id, err := identity.Of(n)
	if err != nil {
		return nil, nil //nolint:nilerr // it has no machine, or is somebody else's
	}
	if len(id.UUIDs) == 0 {
		return []string{NameKey(n.Name)}, nil
	}
	keys := make([]string, len(id.UUIDs))
	for i, u := range id.UUIDs {
		keys[i] = u.String()
	}
	return keys, nil
}

// NameKey is the key of a Node without a UUID, empty for no name.
func NameKey(name string) string {
	if name == "" {
		return ""
	}
	return "name " + strings.ToLower(name)
}
