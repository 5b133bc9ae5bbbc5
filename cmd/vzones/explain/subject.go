package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// subject is the Node to explain, or a VM without one.
type subject struct {
	name string
	// node is nil if there is no match for name.
	node    *v1.Node
	standIn bool
}

// check returns an error if name matches no Node and is no UUID.
func (s *subject) check(w *world.World) error {
	names := nodeNames(w)
	if _, err := parseUUID(s.name); err == nil || slices.Contains(names, s.name) {
		return nil
	}
	hint := ""
	if near := quote.Nearest(s.name, slices.Concat(check.Reasons(), names)); near != "" {
		hint = "did you mean " + quote.Plain(near) + "? Otherwise "
	}
	return fmt.Errorf("Node %s not found: %suse the name of a Node, the UUID of a VM, the ID of a finding, or the reason of an Event", quote.Value(s.name), hint)
}

func nodeNames(w *world.World) []string {
	names := make([]string, len(w.Nodes))
	for i, n := range w.Nodes {
		names[i] = n.Name
	}
	return names
}

// follow sets node, and returns the VMs to read first: the VMs of the Node and of Nodes with the same UUID or name.
func (s *subject) follow(w *world.World) []inventory.Identity {
	if i := slices.IndexFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == s.name }); i >= 0 {
		s.node = w.Nodes[i]
	} else if u, err := parseUUID(s.name); err == nil {
		s.ofUUID(w, u)
	}
	related := []*v1.Node{s.node}
	if id, err := w.Placer.ReportedIdentity(s.node); err == nil {
		keys := []string{nodeinfo.NameKey(s.node.Name)}
		for _, u := range id.UUIDs {
			keys = append(keys, u.String())
		}
		related = append(related, nodesOf(w, keys)...)
	}
	return w.ReportedIdentities(related)
}

func parseUUID(text string) (inventory.UUID, error) {
	if u, err := nodeinfo.ParseProviderID(text); err == nil {
		return u, nil
	}
	return inventory.ParseUUID(text)
}

// ofUUID sets node to the first Node with this VM, or to a stand-in.
func (s *subject) ofUUID(w *world.World, u inventory.UUID) {
	if nodes := nodesOf(w, []string{u.String(), u.Swapped().String()}); len(nodes) > 0 {
		s.node = slices.MinFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	s.standIn = true
	s.node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: u.String(), CreationTimestamp: metav1.Now()}}
	s.node.Spec.ProviderID = nodeinfo.ProviderID(u)
	s.node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
}

func nodesOf(w *world.World, keys []string) (all []*v1.Node) {
	for _, key := range keys {
		if key != "" {
			named, _ := w.Cache.ByVM(key) // An in-memory index returns no error.
			all = append(all, named...)
		}
	}
	return all
}

// readRivals reads the VMs of other Nodes that may claim the VM by name or one of its addresses. It returns an
// error if no vCenter has the UUID.
func (s *subject) readRivals(ctx context.Context, w *world.World) error {
	id, err := w.Placer.ReportedIdentity(s.node)
	if err != nil {
		return nil //nolint:nilerr // The explanation contains the error.
	}
	m, err := inventory.Find(w.States, id)
	if s.standIn && err != nil && !errors.Is(err, inventory.ErrOutside) && !inventory.IsIndexed(w.States, id) {
		return fmt.Errorf("no Node has the UUID %s: %w", quote.Value(s.name), err)
	}
	if err != nil {
		return nil //nolint:nilerr // The explanation contains the error.
	}
	rivals := nodesOf(w, []string{m.UUID.String(), nodeinfo.NameKey(m.HostName), nodeinfo.NameKey(m.Name)})
	input := addresses.NewInput(m, s.node, &config.AddressRules{}, nil)
	for _, a := range input.Candidates() {
		claimants, _ := w.Cache.ByAddress(a.String()) // An in-memory index returns no error.
		rivals = append(rivals, claimants...)
	}
	if nodeinfo.IsUninitialized(s.node) {
		// If several VMs report an address, the oldest uninitialized Node gets it.
		for _, n := range w.Nodes {
			if nodeinfo.IsUninitialized(n) {
				rivals = append(rivals, n)
			}
		}
	}
	rivals = slices.DeleteFunc(rivals, func(n *v1.Node) bool { return n.Name == s.node.Name })
	return w.FollowAlso(ctx, w.ReportedIdentities(rivals))
}

func candidates(w *world.World, l *world.Look) (own string, others []string) {
	id := l.Identity
	chosen := l.Place.VM
	seen := map[topology.Ref]bool{}
	for _, s := range w.StatesFor(l.Node) {
		if s.Snapshot == nil {
			continue
		}
		var entries []inventory.Entry
		for _, u := range id.UUIDs {
			entries = append(entries, s.Snapshot.Entries(u)...)
		}
		if len(id.UUIDs) == 0 {
			for _, e := range s.Snapshot.Names[id.Name] {
				entries = append(entries, e.Entry)
			}
		}
		for _, e := range entries {
			ref := s.Snapshot.Ref(e.ID)
			if seen[ref] {
				continue
			}
			seen[ref] = true
			m := s.Snapshot.VMs[e.ID]
			path := ""
			if m != nil {
				path = m.InventoryPath
			}
			relation := "matches, but may not be the Node's VM"
			switch {
			case chosen != nil && chosen.Ref == ref:
				own = ref.Located(path) + ": the Node's VM"
				continue
			case e.Template:
				relation = "a template, which cannot be a Node's VM"
			case m != nil && m.Secondary:
				relation = "a Fault Tolerance secondary VM, which cannot be a Node's VM"
			case chosen != nil && inventory.IsSameVM(w.States, chosen.Ref, ref, s.Snapshot.Instance):
				relation = "the same VM, read through another entry of its vCenter"
			case e.Unreadable:
				relation = "cannot be read"
			case chosen != nil && m != nil && m.Power.IsOff():
				relation = "powered off, while another match is running"
			}
			others = append(others, ref.Located(path)+": "+relation)
		}
	}
	return own, others
}
