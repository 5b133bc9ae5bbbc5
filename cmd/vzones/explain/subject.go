package explain

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/addresses"
	"vzones/provider/nodecache"
	"vzones/provider/nodeinfo"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// A subject is the Node that is explained, or a machine without one.
type subject struct {
	// name is what was asked for.
	name string
	node *v1.Node
	// standIn reports whether the node stands for a machine that has none.
	standIn bool
}

// follow returns what the first reading needs: the machine of the Node, and those of Nodes that
// name the same one.
func (s *subject) follow(w *world.World) []inventory.Identity {
	i := slices.IndexFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == s.name })
	if i >= 0 {
		s.node = w.Nodes[i]
		return w.Statements(rivals(w, s.node))
	}
	if u, err := parseUUID(s.name); err == nil {
		s.ofUUID(w, u, u.String())
		return w.Statements(rivals(w, s.node))
	}
	return []inventory.Identity{{Name: path.Base(s.name)}}
}

func parseUUID(text string) (inventory.UUID, error) {
	if u, err := nodeinfo.ParseProviderID(text); err == nil {
		return u, nil
	}
	return inventory.ParseUUID(text)
}

// ofUUID takes the Node that has a machine, the first by name, or else one that stands for it.
func (s *subject) ofUUID(w *world.World, u inventory.UUID, name string) {
	var nodes []*v1.Node
	for _, one := range []inventory.UUID{u, u.Swapped()} {
		named, _ := w.Placer.NodeCache().ByMachine(one.String()) // the index is in memory
		nodes = append(nodes, named...)
	}
	if len(nodes) > 0 {
		s.node = slices.MinFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	s.standIn = true
	s.node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.node.Spec.ProviderID = nodeinfo.ProviderID(u)
	s.node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
}

// rivals returns a Node and those that name the same machine.
func rivals(w *world.World, n *v1.Node) []*v1.Node {
	all := []*v1.Node{n}
	id, err := w.Placer.Statement(n)
	if err != nil {
		return all
	}
	keys := []string{nodecache.NameKey(n.Name)}
	for _, u := range id.UUIDs {
		keys = append(keys, u.String())
	}
	return withNodesOf(w, all, keys)
}

func withNodesOf(w *world.World, all []*v1.Node, keys []string) []*v1.Node {
	for _, key := range keys {
		if key == "" {
			continue
		}
		named, _ := w.Placer.NodeCache().ByMachine(key) // the index is in memory
		all = append(all, named...)
	}
	return all
}

// find finds what was asked for in what was read, and has read what else concerns it: the machines
// of the Nodes that claim the same machine by its name, or one of its addresses.
func (s *subject) find(ctx context.Context, w *world.World) error {
	if s.node == nil {
		m, err := s.machine(w)
		if err != nil {
			return err
		}
		s.ofUUID(w, m.UUID, m.Name)
		if err := w.FollowAlso(ctx, w.Statements(rivals(w, s.node))); err != nil {
			return err
		}
	}
	id, err := w.Placer.Statement(s.node)
	if err != nil {
		return nil //nolint:nilerr // the explanation says so
	}
	if s.standIn && len(candidates(w.States, id)) == 0 {
		return s.unknown(w)
	}
	m, err := inventory.Find(w.States, id)
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	others := withNodesOf(w, nil, []string{m.UUID.String(), nodecache.NameKey(m.HostName), nodecache.NameKey(m.Name)})
	in := addresses.For(m, s.node, &config.AddressRules{}, nil)
	for _, a := range in.Candidates() {
		claimants, _ := w.Placer.NodeCache().ByAddress(a.String()) // the index is in memory
		others = append(others, claimants...)
	}
	others = slices.DeleteFunc(others, func(n *v1.Node) bool { return n.Name == s.node.Name })
	return w.FollowAlso(ctx, w.Statements(others))
}

// machine returns the one machine of the name or path that was asked for.
func (s *subject) machine(w *world.World) (*inventory.Machine, error) {
	var found []*inventory.Machine
	var names []string
	base := path.Base(s.name)
	for _, st := range w.States {
		if st.Snapshot == nil {
			continue
		}
		for _, e := range st.Snapshot.Names[base] {
			m := st.Snapshot.Machines[e.ID]
			if m == nil || m.UUID.IsZero() || strings.Contains(s.name, "/") && m.InventoryPath != "/"+strings.TrimPrefix(s.name, "/") {
				continue
			}
			if again := slices.ContainsFunc(found, func(o *inventory.Machine) bool {
				return inventory.IsSameMachine(w.States, o.Ref, m.Ref, st.Snapshot.Instance)
			}); again {
				continue
			}
			found = append(found, m)
			names = append(names, m.Ref.Located(m.InventoryPath)+" with UUID "+m.UUID.String())
		}
	}
	switch len(found) {
	case 0:
		return nil, s.unknown(w)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d machines have the name %s: %s: write the UUID of one", len(found), quote.Value(base), quote.Some(names, quote.Most))
}

// unknown is the error that nothing has the name that was asked for.
func (s *subject) unknown(w *world.World) error {
	where := "no vCenter that was read has a machine"
	if w.Client != nil {
		where = "the cluster has no Node, and no vCenter that was read a machine"
	}
	var down []string
	for _, st := range w.States {
		if st.Snapshot == nil {
			down = append(down, whyDown(st))
		}
	}
	if len(down) > 0 {
		return fmt.Errorf("%s with that name or UUID: %s; not read: %s", where, quote.Value(s.name), quote.Some(down, quote.Most))
	}
	return fmt.Errorf("%s with that name or UUID: %s: correct it, or let the account see the machine", where, quote.Value(s.name))
}

func whyDown(st inventory.State) string {
	if st.Err == nil {
		return fmt.Sprintf("vCenter %q has not answered in time", st.VCenter)
	}
	return quote.Text(st.Err.Error())
}
