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

// sharing has the other Nodes of a Node's machine: the earlier and the later owners, in their order.
type sharing struct {
	node          *v1.Node
	machine       *inventory.Machine
	before, after []*v1.Node
}

// any reports whether another Node has the machine.
func (s *sharing) any() bool { return len(s.before)+len(s.after) > 0 }

// shared returns the other Nodes that have a Node's machine, in their order. Before the Nodes are known it
// returns none; no Node is initialized then.
func (p *Placer) shared(states []inventory.State, m *inventory.Machine, node *v1.Node) (sharing, error) {
	s := sharing{node: node, machine: m}
	if !p.nodes.IsStarted() {
		return s, nil
	}
	others, err := p.naming(m)
	if err != nil {
		return s, topology.Errorf(topology.ErrUnknown, "it is not known which Nodes have the VM of Node %s, which is tried again: %w", node.Name, err)
	}
	for _, other := range others {
		switch {
		case other.Name == node.Name || !p.has(states, other, m):
		case p.compareOwners(other, node, m) < 0:
			s.before = append(s.before, other)
		default:
			s.after = append(s.after, other)
		}
	}
	for _, nodes := range [][]*v1.Node{s.before, s.after} {
		slices.SortFunc(nodes, func(a, b *v1.Node) int { return p.compareOwners(a, b, m) })
	}
	return s, nil
}

// naming returns the Nodes that may have a machine by its UUID, or by its name or its guest's.
func (p *Placer) naming(m *inventory.Machine) (all []*v1.Node, err error) {
	keys := []string{m.UUID.String(), nodeinfo.NameKey(m.HostName), nodeinfo.NameKey(m.Name)}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if key == "" {
			continue
		}
		named, err := p.nodes.ByMachine(key)
		if err != nil {
			return nil, err
		}
		all = append(all, named...)
	}
	return all, nil
}

// has reports whether a machine is or may be that of a Node. The machine that is found decides, and not the
// form in which the Node writes the UUID. A Node that cannot be initialized, because it names two machines
// or several fit, has none.
func (p *Placer) has(states []inventory.State, node *v1.Node, m *inventory.Machine) bool {
	if p.IsForeign(node) {
		return false
	}
	waits := nodeinfo.IsUninitialized(node)
	if p.reservations.of(node.UID).machine == m.UUID {
		return true
	}
	if waits && nodeinfo.Contradiction(node) != nil {
		return false
	}
	id, err := p.identify(states, node)
	if err != nil || waits && inventory.RecordsAnother(states, id, m) {
		return false
	}
	found, err := inventory.Find(states, id)
	switch {
	case err == nil:
		return found.UUID == m.UUID
	case errors.Is(err, topology.ErrAbsent), len(id.UUIDs) > 0 && !slices.Contains(id.UUIDs, m.UUID):
		return false
	}
	return !waits || !errors.Is(err, topology.ErrAmbiguous)
}

// compareOwners compares two Nodes that have one machine, and returns -1 if the first one comes first. A Node
// that vzones has initialized with the machine, or just initializes, comes first, so that no other Node takes
// the machine from it later. Otherwise the Node that was created first does. The order is the same after each
// restart, and no kubelet can write the facts behind it.
func (p *Placer) compareOwners(a, b *v1.Node, m *inventory.Machine) int {
	isSettled := func(n *v1.Node) bool {
		return n.Labels[nodeinfo.KeyInitialized] != "" || p.reservations.of(n.UID).machine == m.UUID
	}
	if isSettled(a) && !isSettled(b) {
		return -1
	}
	if isSettled(b) && !isSettled(a) {
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// whyShared returns why a Node has to wait, or what is wrong with an initialized one, nil if the machine is
// the Node's alone or another one waits for it.
func (s *sharing) whyShared() error {
	name := s.node.Name
	joins := nodeinfo.IsUninitialized(s.node)
	shares := func(others []*v1.Node, came, advice string) error {
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrShared}, "Node %s has the same VM as %s, which came %s: %s%s",
			name, listNodes(others), came, s.machine.Ref.Located(s.machine.InventoryPath), advice)
	}
	const remove = "; delete the one that is not this VM's; until then "
	switch {
	case len(s.before) > 0 && joins:
		return shares(s.before, "first", ": delete the other Node if it is this VM under an older name, and Node "+name+" goes on at once; "+
			"otherwise one of the kubelets reports another VM's UUID or provider ID")
	case len(s.before) > 0:
		return shares(s.before, "first", remove+"the labels and addresses of Node "+name+" stay as they are")
	case len(s.after) > 0 && !joins:
		return shares(s.after, "later", remove+"Node "+name+" goes on as before")
	}
	return nil
}

// listNodes names Nodes, the first of them if there are many.
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
