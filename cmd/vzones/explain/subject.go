package explain

import (
	"context"
	"fmt"
	"maps"
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
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// A subject is the Node that is explained, or a machine without one.
type subject struct {
	// name is the argument.
	name string
	// node is nil until follow has found it, and if nothing has the name.
	node *v1.Node
	// standIn reports whether the node stands for a machine that has none.
	standIn bool
}

// follow returns what the first reading needs: the machine of the Node, and those of Nodes that
// name the same one.
func (s *subject) follow(w *world.World) []inventory.Identity {
	if i := slices.IndexFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == s.name }); i >= 0 {
		s.node = w.Nodes[i]
	} else if u, err := parseUUID(s.name); err == nil {
		s.ofUUID(w, u)
	} else {
		return nil
	}
	all := []*v1.Node{s.node}
	if id, err := w.Placer.Statement(s.node); err == nil {
		keys := []string{nodecache.NameKey(s.node.Name)}
		for _, u := range id.UUIDs {
			keys = append(keys, u.String())
		}
		all = append(all, nodesOf(w, keys)...)
	}
	return w.Statements(all)
}

func parseUUID(text string) (inventory.UUID, error) {
	if u, err := nodeinfo.ParseProviderID(text); err == nil {
		return u, nil
	}
	return inventory.ParseUUID(text)
}

// ofUUID takes the Node that has a machine, the first by name, or else one that stands for it.
func (s *subject) ofUUID(w *world.World, u inventory.UUID) {
	if nodes := nodesOf(w, []string{u.String(), u.Swapped().String()}); len(nodes) > 0 {
		s.node = slices.MinFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	s.standIn = true
	s.node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: u.String()}}
	s.node.Spec.ProviderID = nodeinfo.ProviderID(u)
	s.node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
}

// nodesOf returns the Nodes that name one of these machines.
func nodesOf(w *world.World, keys []string) (all []*v1.Node) {
	for _, key := range keys {
		if key != "" {
			named, _ := w.Placer.NodeCache().ByMachine(key) // the index is in memory
			all = append(all, named...)
		}
	}
	return all
}

// find has read what else concerns the subject: the machines of the Nodes that claim the same machine by
// its name, or one of its addresses. It fails if nothing has the name.
func (s *subject) find(ctx context.Context, w *world.World) error {
	if s.node == nil {
		return fmt.Errorf("the cluster has no Node %s: write the name of a Node, the UUID of a machine, or the ID of a finding", quote.Value(s.name))
	}
	id, err := w.Placer.Statement(s.node)
	if err != nil {
		return nil //nolint:nilerr // the explanation says so
	}
	if s.standIn && len(candidates(w.StatesFor(s.node), id)) == 0 {
		return s.unknown(w)
	}
	m, err := inventory.Find(w.States, id)
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	others := nodesOf(w, []string{m.UUID.String(), nodecache.NameKey(m.HostName), nodecache.NameKey(m.Name)})
	in := addresses.For(m, s.node, &config.AddressRules{}, nil)
	for _, a := range in.Candidates() {
		claimants, _ := w.Placer.NodeCache().ByAddress(a.String()) // the index is in memory
		others = append(others, claimants...)
	}
	others = slices.DeleteFunc(others, func(n *v1.Node) bool { return n.Name == s.node.Name })
	return w.FollowAlso(ctx, w.Statements(others))
}

// unknown is the error that nothing has the UUID.
func (s *subject) unknown(w *world.World) error {
	var down []string
	for i := range w.States {
		if w.States[i].Snapshot == nil {
			down = append(down, whyDown(&w.States[i]))
		}
	}
	advice := ": correct it, or let the account see the machine"
	if len(down) > 0 {
		advice = "; not read: " + quote.Some(down, quote.Most)
	}
	return fmt.Errorf("no Node, and no machine of a vCenter that was read, has the UUID %s%s", quote.Value(s.name), advice)
}

func whyDown(st *inventory.State) string {
	if st.Err == nil {
		return fmt.Sprintf("vCenter %q has not answered in time", st.VCenter)
	}
	return quote.Text(st.Err.Error())
}

// A standing says why a machine is a Node's, or is not.
type standing string

// The standings.
const (
	standingChosen     standing = "chosen"
	standingSame       standing = "same_machine"
	standingTemplate   standing = "template"
	standingSecondary  standing = "secondary" // of a Fault Tolerance pair
	standingOff        standing = "powered_off"
	standingOutside    standing = "outside_datacenters"
	standingUnreadable standing = "unreadable" // so that it may be the Node's
	standingEqual      standing = "undecided"  // something that is not known decides
)

// standingText says it for a person.
var standingText = map[standing]string{
	standingChosen:     "is the machine",
	standingSame:       "is the same machine, by another entry of its vCenter",
	standingTemplate:   "a template is not a Node's machine",
	standingSecondary:  "a Fault Tolerance secondary is not a Node's machine",
	standingOff:        "is off, and another one runs",
	standingOutside:    "is in none of the configured datacenters",
	standingUnreadable: "cannot be read, and may be it",
	standingEqual:      "fits, and is not certain to be it",
}

// A candidate is a machine that fits what the Node says, or may fit.
type candidate struct {
	ref      topology.Ref
	standing standing
	text     string
}

// candidates returns all machines that fit what a Node says, the chosen one first if
// inventory.Find returns one, and those of which no UUID is known and that may therefore be the Node's.
func candidates(states []inventory.State, id inventory.Identity) []candidate {
	chosen, err := inventory.Find(states, id)
	if err != nil {
		chosen = nil
	}
	var all []candidate
	for _, s := range states {
		if s.Snapshot != nil {
			l := lineup{states, s.Snapshot, chosen, nil}
			l.addAll(s, id)
			all = append(all, l.all...)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return b.rank() - a.rank() })
	return all
}

func (c *candidate) rank() int {
	switch c.standing {
	case standingChosen:
		return 2
	case standingUnreadable:
		return 0
	}
	return 1
}

// A lineup is the candidates of one vCenter.
type lineup struct {
	states   []inventory.State
	snapshot *inventory.Snapshot
	chosen   *inventory.Machine
	all      []candidate
}

func (l *lineup) addAll(s inventory.State, id inventory.Identity) {
	for _, u := range id.UUIDs {
		for _, e := range l.snapshot.Entries(u) {
			l.add(e, false, "")
		}
	}
	if len(id.UUIDs) == 0 {
		for _, e := range l.snapshot.Names[id.Name] {
			suffix := ""
			if e.ByHostName {
				suffix = " (by the guest's host name)"
			}
			l.add(e.Entry, false, suffix)
		}
		return
	}
	outside := slices.Clone(l.snapshot.Outside)
	recorded, is := id.RecordedIn(l.snapshot)
	if is && !recorded.Unreadable {
		outside = append(outside, recorded.ID)
	}
	for _, moid := range outside {
		if m := l.snapshot.Machines[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
			l.add(inventory.Entry{ID: moid}, true, "")
		}
	}
	if l.chosen != nil {
		return
	}
	if is && recorded.Unreadable && !recorded.Template {
		l.add(recorded, false, "")
	}
	for _, moid := range slices.Sorted(maps.Keys(l.snapshot.Unreadable)) {
		if !id.IsAnother(s, moid, l.snapshot.Unreadable[moid]) {
			l.add(inventory.Entry{ID: moid, Unreadable: true}, false, "")
		}
	}
}

// add adds a machine unless it is there.
func (l *lineup) add(e inventory.Entry, outside bool, suffix string) {
	ref := l.snapshot.Ref(e.ID)
	if slices.ContainsFunc(l.all, func(o candidate) bool { return o.ref.ID == e.ID }) {
		return
	}
	is := l.standing(ref, e, outside)
	path := ""
	if m := l.snapshot.Machines[e.ID]; m != nil {
		path = m.InventoryPath
	}
	l.all = append(l.all, candidate{ref, is, ref.Located(path) + ": " + standingText[is] + suffix})
}

func (l *lineup) standing(ref topology.Ref, e inventory.Entry, outside bool) standing {
	m := l.snapshot.Machines[e.ID]
	switch {
	case l.chosen != nil && l.chosen.Ref == ref:
		return standingChosen
	case l.chosen != nil && inventory.IsSameMachine(l.states, l.chosen.Ref, ref, l.snapshot.Instance):
		return standingSame
	case e.Template:
		return standingTemplate
	case m != nil && m.Secondary:
		return standingSecondary
	case outside:
		return standingOutside
	case e.Unreadable:
		return standingUnreadable
	case l.chosen != nil && m != nil && m.Power.IsOff():
		return standingOff
	}
	return standingEqual
}
