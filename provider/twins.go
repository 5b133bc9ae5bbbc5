package provider

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// machineIndex is the informer's index of all Nodes by what may say which machine they
// are of: each form of the UUID, or the name of a Node without one.
const machineIndex = "vzones/machine"

// errTwin says that another Node has the machine of a Node. It is in a
// topology.ErrUnknown: which of the two runs on the machine cannot be said.
var errTwin = errors.New("two Nodes have one machine")

// indexMachines is the function of machineIndex.
func indexMachines(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	id, err := identify(n)
	if err != nil {
		return nil, nil //nolint:nilerr // it has no machine, or is somebody else's
	}
	if len(id.UUIDs) == 0 {
		return []string{nameKey(n.Name)}, nil
	}
	keys := make([]string, len(id.UUIDs))
	for i, u := range id.UUIDs {
		keys[i] = u.String()
	}
	return keys, nil
}

// nameKey is the key of a Node without a UUID, empty for no name.
func nameKey(name string) string {
	if name == "" {
		return ""
	}
	return "name " + strings.ToLower(name)
}

// A sharing is which other Nodes have the machine of a Node, before it and after it.
type sharing struct {
	node          *v1.Node
	machine       *inventory.Machine
	before, after []*v1.Node
}

// shared returns which other Nodes have a Node's machine, in their order. Before the
// Nodes are known there are none, and nobody is initialized either.
func (p *Provider) shared(states []inventory.State, m *inventory.Machine, node *v1.Node) (sharing, error) {
	s := sharing{node: node, machine: m}
	if !p.leads() {
		return s, nil
	}
	keys := []string{m.UUID.String(), nameKey(m.HostName), nameKey(m.Name)}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if key == "" {
			continue
		}
		objects, err := p.nodes.NodeInformer.Informer().GetIndexer().ByIndex(machineIndex, key)
		if err != nil {
			return s, fmt.Errorf("%w: which Nodes have the machine of Node %s: %w", topology.ErrUnknown, node.Name, err)
		}
		for _, object := range objects {
			other, ok := object.(*v1.Node)
			switch {
			case !ok || other.Name == node.Name || !p.has(states, other, m):
			case p.precedes(other, node):
				s.before = append(s.before, other)
			default:
				s.after = append(s.after, other)
			}
		}
	}
	for _, nodes := range [][]*v1.Node{s.before, s.after} {
		slices.SortFunc(nodes, func(a, b *v1.Node) int {
			switch {
			case a.UID == b.UID:
				return 0
			case p.precedes(a, b):
				return -1
			}
			return 1
		})
	}
	return s, nil
}

// has reports whether a machine is a Node's, or may be, as its UUID or one of its names
// says: by what is found, and not by how the Node writes the UUID. A Node that cannot be
// initialized, since it names two machines or several fit, has none.
func (p *Provider) has(states []inventory.State, node *v1.Node, m *inventory.Machine) bool {
	if p.isForeign(node) {
		return false
	}
	waits := isUninitialized(node)
	if waits && contradiction(node) != nil {
		return false
	}
	id, err := p.identify(node)
	if err != nil || waits && inventory.Claims(states, id, m) {
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

// precedes reports whether a machine that two Nodes have is the first one's. A Node that
// is initialized comes before one that waits: nothing is taken from it, whatever another
// one says later. Otherwise it is the one that the API server made first. That order is
// the same after each restart, and no kubelet can write what it rests on: it cannot
// take off the taint, and what it registers without it counts as if it had the taint.
func (p *Provider) precedes(a, b *v1.Node) bool {
	if first := p.settled(a); first != p.settled(b) {
		return first
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID)) < 0
}

// settled reports whether a Node is initialized, and did not come so by itself.
func (p *Provider) settled(n *v1.Node) bool {
	return !isUninitialized(n) && n.Spec.ProviderID != "" && !p.twins.came(n.UID)
}

// waits returns why the Node has to wait, nil if the machine is its own.
func (s *sharing) waits() error {
	if len(s.before) == 0 {
		return nil
	}
	name := s.node.Name
	return fmt.Errorf("%w: %w: %s came before Node %s and of the same machine, %s; "+
		"is that this machine under an older name? Then delete it, and Node %s goes on at once; otherwise its kubelet reports another machine's UUID or provider ID",
		topology.ErrUnknown, errTwin, listNodes(s.before), name, s.where(), name)
}

// doubt returns what is wrong with an initialized Node, nil if no other Node has its
// machine.
func (s *sharing) doubt() error {
	switch {
	case len(s.before) > 0:
		return fmt.Errorf("%w: %w: %s came before Node %s and of the same machine, %s; "+
			"delete the one that is not this machine's: until then the labels and addresses of Node %s stay as they are",
			topology.ErrUnknown, errTwin, listNodes(s.before), s.node.Name, s.where(), s.node.Name)
	case len(s.after) > 0:
		return fmt.Errorf("%w: %w: %s came after Node %s and of the same machine, %s; "+
			"delete the one that is not this machine's: until then Node %s goes on as before",
			topology.ErrUnknown, errTwin, listNodes(s.after), s.node.Name, s.where(), s.node.Name)
	}
	return nil
}

// where names the machine.
func (s *sharing) where() string {
	return fmt.Sprintf("vCenter %q %s (%s)", s.machine.Ref.VCenter, quote.Name(s.machine.InventoryPath), s.machine.Ref.ID)
}

// listNodes names Nodes, or tells how many there are more.
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

// twins is what this process knows of Nodes beyond what they say, so that of two with one
// machine the right one is first.
type twins struct {
	mu sync.Mutex
	// uninvited are the Nodes that, since this process leads, came without the taint or
	// got a provider ID without it: nobody has initialized them.
	uninvited map[types.UID]bool
	// given are the Nodes that machines were given to a moment ago. They need not show
	// it yet.
	given map[inventory.UUID]grant
}

// arrive notes that a Node comes while this process leads.
func (t *twins) arrive(n *v1.Node) {
	if isUninitialized(n) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.uninvited == nil {
		t.uninvited = map[types.UID]bool{}
	}
	t.uninvited[n.UID] = true
}

// update notes a change of a Node, and leads says whether this process does.
func (t *twins) update(before, now *v1.Node, leads bool) {
	another := before.UID != now.UID
	if another {
		t.forget(before.UID)
	}
	if leads && (another || !isUninitialized(before) && before.Spec.ProviderID == "" && now.Spec.ProviderID != "") {
		t.arrive(now)
	}
	t.shown(now)
}

// came reports whether a Node came without anybody having initialized it.
func (t *twins) came(node types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.uninvited[node]
}

// forget ends what is known of a Node that is gone.
func (t *twins) forget(node types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.uninvited, node)
	for u, to := range t.given {
		if to.node == node {
			delete(t.given, u)
		}
	}
}

// give notes that a Node is about to get a machine, unless another one is, as waits tells:
// two that come at the same time may be asked about at the same time.
func (t *twins) give(u inventory.UUID, node *v1.Node, waits func(types.UID, string) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to, ok := t.given[u]; ok && to.node != node.UID && time.Since(to.at) < granted && waits(to.node, to.name) {
		return fmt.Errorf("%w: %w: Node %s was given that of Node %s a moment ago", topology.ErrUnknown, errTwin, to.name, node.Name)
	}
	if t.given == nil {
		t.given = map[inventory.UUID]grant{}
	}
	t.given[u] = grant{node.UID, node.Name, time.Now()}
	return nil
}

// shown ends what a Node was given that shows it by now.
func (t *twins) shown(n *v1.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.given) == 0 || isUninitialized(n) {
		return
	}
	if id, err := parseProviderID(n.Spec.ProviderID); err == nil && t.given[id].node == n.UID {
		delete(t.given, id)
	}
}

// give gives a Node its machine and its addresses, or says which other Node was given
// either.
func (p *Provider) give(node *v1.Node, d *description) error {
	err := p.twins.give(d.machine.UUID, node, func(uid types.UID, name string) bool {
		n, err := p.nodes.NodeInformer.Lister().Get(name)
		return err == nil && n.UID == uid && isUninitialized(n)
	})
	if err != nil {
		return err
	}
	return p.grants.give(node, d.metadata.NodeAddresses)
}

// addMachineIndex has the informer keep machineIndex.
func (p *Provider) addMachineIndex() {
	if err := p.nodes.NodeInformer.Informer().AddIndexers(cache.Indexers{machineIndex: indexMachines}); err != nil {
		klog.Background().Error(err, "Cannot index Nodes by their machines") //nolint:forbidigo // SetInformers has no context
	}
}

// alone returns an error if another Node has a Node's machine: one that was before it, or
// any if the Node is initialized, so that it is counted.
func (p *Provider) alone(states []inventory.State, m *inventory.Machine, node *v1.Node) error {
	s, err := p.shared(states, m, node)
	switch {
	case err != nil:
		return err
	case isUninitialized(node):
		return s.waits()
	}
	return s.doubt()
}

// unshared returns an error for an initialized Node that came after another one with its
// machine: nothing is done about it until one of the two is gone.
func (p *Provider) unshared(states []inventory.State, m *inventory.Machine, node *v1.Node) error {
	s, err := p.shared(states, m, node)
	if err == nil && len(s.before) > 0 {
		err = s.doubt()
	}
	return err
}

// attendTwin returns what is wrong with an initialized Node whose machine was found. When
// another Node with that machine is gone, whoever writes labels looks again.
func (r *rounds) attendTwin(n *v1.Node, m *inventory.Machine, here *attended) error {
	s, err := r.provider.shared(r.states, m, n)
	if err == nil {
		err = s.doubt()
	}
	later := len(s.before) > 0
	if here.later && !later {
		r.provider.fleet.Probe(m.Ref.VCenter)
	}
	here.later = later
	return err
}
