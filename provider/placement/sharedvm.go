package placement

import (
	"cmp"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// sharing contains the other Nodes with the same VM; earlier take precedence over node.
type sharing struct {
	node           *v1.Node
	vm             *inventory.VM
	earlier, later []*v1.Node
}

func (s *sharing) isShared() bool { return len(s.earlier)+len(s.later) > 0 }

// sharingOf returns no Nodes before the informer has them, since vzones initializes no Node then.
func (p *Placer) sharingOf(states []inventory.State, m *inventory.VM, node *v1.Node) (sharing, error) {
	s := sharing{node: node, vm: m}
	if !p.nodes.IsStarted() {
		return s, nil
	}
	named, err := p.nodesNaming(m)
	if err != nil {
		return s, topology.Errorf(topology.ErrUnknown, "cannot look up the other Nodes with the VM of Node %s; retrying: %w", node.Name, err)
	}
	for _, other := range named {
		switch {
		case other.Name == node.Name || !p.mayHave(states, other, m):
		case p.compareOwners(other, node, m) < 0:
			s.earlier = append(s.earlier, other)
		default:
			s.later = append(s.later, other)
		}
	}
	for _, nodes := range [][]*v1.Node{s.earlier, s.later} {
		slices.SortFunc(nodes, func(a, b *v1.Node) int { return p.compareOwners(a, b, m) })
	}
	return s, nil
}

func (p *Placer) nodesNaming(m *inventory.VM) (nodes []*v1.Node, err error) {
	keys := []string{m.UUID.String(), nodeinfo.NameKey(m.HostName), nodeinfo.NameKey(m.Name)}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if key == "" {
			continue
		}
		named, err := p.nodes.ByVM(key)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, named...)
	}
	return nodes, nil
}

// mayHave reports whether a VM is or may be a Node's. An uninitialized Node that names two VMs or matches
// several cannot be initialized and has none.
func (p *Placer) mayHave(states []inventory.State, node *v1.Node, m *inventory.VM) bool {
	if p.IsForeign(node) {
		return false
	}
	isJoining := nodeinfo.IsUninitialized(node)
	if p.reservations.get(node.UID).vm == m.UUID {
		return true
	}
	if isJoining && nodeinfo.Contradiction(node) != nil {
		return false
	}
	id, err := p.identify(states, node)
	if err != nil || isJoining && inventory.RecordsOtherVM(states, id, m) {
		return false
	}
	found, err := inventory.Find(states, id)
	switch {
	case err == nil:
		return found.UUID == m.UUID
	case errors.Is(err, topology.ErrAbsent), len(id.UUIDs) > 0 && !slices.Contains(id.UUIDs, m.UUID):
		return false
	}
	return !isJoining || !errors.Is(err, topology.ErrAmbiguous)
}

// compareOwners returns -1 if a takes precedence: a Node that vzones has initialized with the VM, or is
// initializing, else the older Node. The order survives restarts, and no kubelet can write its inputs.
func (p *Placer) compareOwners(a, b *v1.Node, m *inventory.VM) int {
	isSettled := func(n *v1.Node) bool {
		return n.Labels[nodeinfo.KeyInitialized] != "" || p.reservations.get(n.UID).vm == m.UUID
	}
	if isSettled(a) && !isSettled(b) {
		return -1
	}
	if isSettled(b) && !isSettled(a) {
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// whyShared is an error if an earlier Node has the VM or, for an initialized Node, any other Node.
func (s *sharing) whyShared() error {
	name := s.node.Name
	isJoining := nodeinfo.IsUninitialized(s.node)
	shares := func(others []*v1.Node, came, advice string) error {
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrShared}, "Node %s has the same VM as %s, which came %s: %s%s",
			name, listNodes(others), came, s.vm.Ref.Located(s.vm.InventoryPath), advice)
	}
	const remove = "; delete the Node that does not run on this VM; until then "
	switch {
	case len(s.earlier) > 0 && isJoining:
		return shares(s.earlier, "first", ": delete the other Node if it is an older name of this VM, and Node "+name+" is initialized at once; "+
			"otherwise one of the kubelets reports the UUID or provider ID of another VM")
	case len(s.earlier) > 0:
		return shares(s.earlier, "first", remove+"the labels and addresses of Node "+name+" stay unchanged")
	case len(s.later) > 0 && !isJoining:
		return shares(s.later, "later", remove+"Node "+name+" is not affected")
	}
	return nil
}

func listNodes(nodes []*v1.Node) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	if len(names) == 1 {
		return "Node " + names[0]
	}
	return "Nodes " + quote.Some(names, quote.Most)
}
