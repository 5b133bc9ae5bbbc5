package placement

import (
	"cmp"
	"net/netip"
	"slices"
	"weak"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// compareAge breaks ties by name, since creation times are in whole seconds.
func compareAge(a, b *v1.Node) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// isElder reports whether node takes precedence over other for an address that both VMs report: neither Node has
// an address of that family yet, and node is older. So the order of decisions does not matter.
func isElder(node, other *v1.Node, a netip.Addr) bool {
	return addresses.LacksFamilyOf(node, a) && addresses.LacksFamilyOf(other, a) && compareAge(node, other) < 0
}

func (c *claimFinder) elder(a netip.Addr, m *inventory.VM, node *v1.Node) (*v1.Node, error) {
	if !addresses.LacksFamilyOf(node, a) {
		return nil, nil
	}
	type candidate struct {
		node *v1.Node
		vm   *inventory.VM
	}
	var elders []candidate
	for _, reporter := range c.p.reports.reporting(c.states, a) {
		if reporter.UUID == m.UUID {
			continue
		}
		named, err := c.p.nodesNaming(reporter)
		if err != nil {
			return nil, topology.Errorf(topology.ErrUnknown, "cannot look up the Nodes that get address %s; retrying: %w", a, err)
		}
		for _, claimant := range named {
			if isElder(claimant, node, a) && c.isOwner(claimant, reporter) {
				elders = append(elders, candidate{claimant, reporter})
			}
		}
	}
	slices.SortFunc(elders, func(a, b candidate) int { return compareAge(a.node, b.node) })
	for _, e := range elders {
		given, isKnown := c.elderAddresses[e.node.UID]
		if !isKnown {
			// After an error the selection is empty.
			s, _, _ := c.choose(e.vm, e.node)
			given = s.Addresses
			c.elderAddresses[e.node.UID] = given
		}
		if slices.ContainsFunc(given, func(address v1.NodeAddress) bool {
			return address.Type != v1.NodeHostName && address.Address == a.String()
		}) {
			return e.node, nil
		}
	}
	return nil, nil
}

func (c *claimFinder) isOwner(node *v1.Node, m *inventory.VM) bool {
	if c.p.IsForeign(node) || nodeinfo.Contradiction(node) != nil {
		return false
	}
	f, err := c.p.findVM(c.states, node)
	if err != nil || f.vm.UUID != m.UUID {
		return false
	}
	s, err := c.p.sharingOf(c.states, f.vm, node)
	return err == nil && len(s.earlier) == 0
}

// reports contains each vCenter's VMs by reported address.
type reports map[string]reported

type reported struct {
	// vms is valid while this is the vCenter's snapshot.
	snapshot weak.Pointer[inventory.Snapshot]
	vms      map[netip.Addr][]*inventory.VM
}

func (r reports) reporting(states []inventory.State, a netip.Addr) (found []*inventory.VM) {
	if len(r) > len(states) {
		// A vCenter was removed from the configuration.
		clear(r)
	}
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		current := weak.Make(s.Snapshot)
		if r[s.VCenter].snapshot != current {
			vms := make(map[netip.Addr][]*inventory.VM, 2*len(s.Snapshot.VMs))
			for _, m := range s.Snapshot.VMs {
				for _, address := range addresses.Reported(m) {
					vms[address] = append(vms[address], m)
				}
			}
			r[s.VCenter] = reported{current, vms}
		}
		found = append(found, r[s.VCenter].vms[a]...)
	}
	return found
}
