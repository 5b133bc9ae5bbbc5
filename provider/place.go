package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/reconcile"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

var _ reconcile.Source = (*Provider)(nil)

// Place returns where an initialised Node is, by a vCenter that is in contact.
// Without a machine, the Node's own Events tell why.
func (p *Provider) Place(node *v1.Node) (reconcile.Place, error) {
	// In this order: what vCenters have come with a configuration is not judged by the
	// one before.
	states := p.fleet.States()
	place := reconcile.Place{Topology: p.Topology()}
	m, in, err := p.inContact(states, node)
	if err == nil {
		err = p.unshared(states, m, node)
	}
	if err != nil {
		return place, err
	}
	place.Machine, place.Contact = m, in.Contact
	place.InstanceType, place.FormerType = followedType(m), formerType(m)
	if place.OldNames = p.namesTooOld(in); !p.namesBefore(in, in.Named.At) {
		place.Named = in.Named.At // of all that are needed
	}
	place.VCenter = inventory.First(states, m.Ref.VCenter)
	place.Placement, err = resolve(place.Topology.Policy, states, m)
	return place, err
}

// Topology returns how Nodes get their labels now.
func (p *Provider) Topology() *config.Topology { return &p.settings.Load().cfg.Topology }

// errUnwritten says that a Node has to have a label before it is initialised.
var errUnwritten = errors.New("a label is not written yet")

// unwritten returns the labels of a placement that the framework writes to no Node,
// although it is asked to, as far as the Node does not have them.
func unwritten(placement topology.Placement, node *v1.Node) map[string]string {
	var labels map[string]string
	for _, d := range placement.Decisions {
		if !topology.IsReservedLevel(d.Label) || node.Labels[d.Label] == d.Value {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[d.Label] = d.Value
	}
	return labels
}

// Unwritten returns the labels without which a Node is not initialised, and that the
// reconciler has to write.
func (p *Provider) Unwritten(node *v1.Node) map[string]string {
	policy := p.Topology().Policy
	if p.isForeign(node) || !isUninitialized(node) || !slices.ContainsFunc(policy.Levels, func(r topology.Rule) bool { return topology.IsReservedLevel(r.Label) }) {
		return nil
	}
	d, err := p.initial(node)
	if err != nil {
		return nil
	}
	return unwritten(d.placement, node)
}

// waits returns why a Node that could be initialised is not yet.
func (d *description) waits(node *v1.Node) error {
	labels := unwritten(d.placement, node)
	if len(labels) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(labels))
	return fmt.Errorf("%w: %s, which controller topology-controller writes before Node %s is initialized: it has to run, see --controllers",
		errUnwritten, strings.Join(keys, ", "), node.Name)
}

// Hidden returns the tag categories of the configuration that each vCenter does not
// show, nil if each shows all or not all vCenters were read.
func (p *Provider) Hidden() map[string][]string { return inventory.Hidden(p.fleet.States()) }

// resolve places a machine by what its vCenter shows to the account, and says where
// no other vCenter shows a category either, and what the CSI driver does not see.
func resolve(policy topology.Policy, states []inventory.State, m *inventory.Machine) (topology.Placement, error) {
	if in := inventory.StateOf(states, m.Ref.VCenter).Snapshot; in != nil {
		policy.Invisible = in.NoCategory
	}
	placement, err := topology.Resolve(policy, paths(states, m))
	none := policy.NoCategory(inventory.NoCategory(states))
	placement.Conflicts = slices.Concat(placement.Conflicts, none, policy.MissingCategories(inventory.Hidden(states)), policy.NotCSI())
	if errors.Is(err, topology.ErrNoCategory) {
		for _, conflict := range none {
			if policy.IsRequired(conflict.Labels[0]) {
				return placement, fmt.Errorf("%w. %s", err, conflict.Text())
			}
		}
	}
	return placement, err
}

// paths returns those of a machine. What is above it is of the vCenter, which has the name
// of its first entry, whichever of them has found the machine.
func paths(states []inventory.State, m *inventory.Machine) []topology.Path {
	first := inventory.First(states, m.Ref.VCenter)
	if first == m.Ref.VCenter {
		return m.Paths
	}
	renamed := map[*topology.Object]*topology.Object{}
	all := slices.Clone(m.Paths)
	for i := range all {
		all[i].Objects = slices.Clone(all[i].Objects)
		for j, o := range all[i].Objects {
			if renamed[o] == nil {
				now := *o
				now.Ref.VCenter = first
				renamed[o] = &now
			}
			all[i].Objects[j] = renamed[o]
		}
	}
	return all
}

// Tagged returns the tags of regions and zones in all vCenters that are attached to
// anything, as far as that was read.
func (p *Provider) Tagged() []topology.Tagged {
	return tagged(p.fleet.States())
}

// tagged is Tagged of these states. Of a tag that several entries of one vCenter show,
// that of the one which shows most objects counts.
func tagged(states []inventory.State) []topology.Tagged {
	type tag struct{ vcenter, category, name string }
	var all []topology.Tagged
	at := map[tag]int{}
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		first := inventory.First(states, s.VCenter)
		for _, t := range s.Snapshot.Tagged {
			t.VCenter = first
			i, again := at[tag{first, t.Category, t.Name}]
			switch {
			case !again:
				at[tag{first, t.Category, t.Name}] = len(all)
				all = append(all, t)
			case len(t.NoHosts)+t.Further > len(all[i].NoHosts)+all[i].Further:
				all[i] = t
			}
		}
	}
	return all
}

// Machine returns the machine in the result of Place, or nil.
func (p *Provider) Machine(node *v1.Node) *inventory.Machine {
	states := p.fleet.States()
	m, _, err := p.inContact(states, node)
	if err != nil || p.unshared(states, m, node) != nil {
		return nil
	}
	return m
}

// inContact returns a Node's machine and the state of its vCenter, if that is in
// contact.
func (p *Provider) inContact(states []inventory.State, node *v1.Node) (*inventory.Machine, inventory.State, error) {
	m, err := p.machine(states, node)
	return reached(states, m, err)
}

// reached returns the state of a machine's vCenter too, if that is in contact.
func reached(states []inventory.State, m *inventory.Machine, err error) (*inventory.Machine, inventory.State, error) {
	if err != nil {
		return nil, inventory.State{}, err
	}
	in := inventory.StateOf(states, m.Ref.VCenter)
	if err := in.Reach(); err != nil {
		return nil, inventory.State{}, err
	}
	return m, in, nil
}

// Subscribe returns a channel that has a token when what is known of the vCenters
// has changed.
func (p *Provider) Subscribe() <-chan struct{} { return p.fleet.Subscribe() }

// Probe has a vCenter prove that it answers.
func (p *Provider) Probe(vcenter string) { p.fleet.Probe(vcenter) }

// ReadTags has a vCenter's tags read soon, with their names.
func (p *Provider) ReadTags(vcenter string) { p.fleet.ReadTags(vcenter) }

// Reason returns the reason of the Event that tells of an error.
func (p *Provider) Reason(err error) string { return judge(err).event }
