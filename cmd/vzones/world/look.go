package world

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A Look is what the daemon makes of one Node.
type Look struct {
	Node *v1.Node
	// Foreign reports whether the Node is none of ours: another provider's, left out by
	// nodes.selector, or unknown to vSphere and waiting for nothing. Then the daemon does nothing
	// about it, and Err is why it is none of ours, if that is not clear from the Node.
	Foreign bool
	// Waits reports whether the Node is not initialized yet.
	Waits bool
	// Off reports whether the machine of an initialized Node that is not ready is off or suspended.
	Off bool
	// Identity is what the Node says about its machine, zero if it says nothing of use.
	Identity inventory.Identity
	// Place is the decision about the Node. What is found although Err is not nil is here too.
	Place placement.Decision
	// Err is what a Node waits for, or why nothing is known of the place of an initialized one,
	// nil if it is as it should be. That its labels differ is in Differences.
	Err error
	// Differences are the labels of an initialized Node that are missing or not those of its place,
	// in the order of the policy, its instance type last, whatever is done about them.
	Differences []plan.Difference
	// Plan is what the daemon writes to the labels of an initialized Node once the differences
	// have settled, nil for a Node that waits or is foreign.
	Plan *plan.Plan
}

// Look returns what the daemon makes of a Node of the World. It changes nothing.
func (w *World) Look(n *v1.Node) *Look { return w.claims.look(w.Placer, n) }

// StatesFor returns the states that Look places a Node by.
func (w *World) StatesFor(n *v1.Node) []inventory.State {
	if w.claims.concern(w.Placer, n) {
		return w.claims.states
	}
	return w.States
}

// claims are the machines without a readable configuration that Nodes were last found as, by the
// annotations of those Nodes. A daemon that runs remembers whose they are. The tool has no memory, so
// it believes the annotations of other Nodes, which the daemon does not: such a machine is no
// candidate for a Node. The zero value is for no such machine.
type claims struct {
	machines map[topology.Ref]bool
	// placer and states are those without the machines.
	placer *placement.Placer
	states []inventory.State
}

// concern reports whether a Node is placed without the machines: it is not the one that claims one.
func (c *claims) concern(p *placement.Placer, n *v1.Node) bool {
	if len(c.machines) == 0 || p.IsForeign(n) {
		return false
	}
	id, err := p.Identify(n)
	return err == nil && !c.machines[id.Recorded]
}

func (c *claims) look(p *placement.Placer, n *v1.Node) *Look {
	if c.concern(p, n) {
		p = c.placer
	}
	return lookBy(p, n)
}

// claimsIn returns the claims of Nodes in states.
func claimsIn(p *placement.Placer, cfg *config.Config, states []inventory.State, nodes []*v1.Node) claims {
	c := claims{machines: map[topology.Ref]bool{}, states: slices.Clone(states)}
	for _, id := range statements(p, nodes) {
		for i := range c.states {
			s := c.states[i].Snapshot
			if s == nil || id.Recorded.ID == "" || !(inventory.LastSeen{VCenter: id.Recorded.VCenter, Instance: id.RecordedInstance}).IsIn(s.VCenter, s.Instance) {
				continue
			}
			if _, unreadable := states[i].Snapshot.Unreadable[id.Recorded.ID]; unreadable {
				without := *s
				without.Unreadable = maps.Clone(s.Unreadable)
				delete(without.Unreadable, id.Recorded.ID)
				c.states[i].Snapshot = &without
				c.machines[id.Recorded] = true
			}
		}
	}
	if len(c.machines) > 0 {
		c.placer = placeBy(c.states, cfg, nodes)
	}
	return c
}

// LooksBy returns what Look would be with another configuration and states that nobody has read, such as
// those that a change would lead to.
func LooksBy(states []inventory.State, cfg *config.Config, nodes []*v1.Node) func(*v1.Node) *Look {
	p := placeBy(states, cfg, nodes)
	c := claimsIn(p, cfg, states, nodes)
	return func(n *v1.Node) *Look { return c.look(p, n) }
}

func placeBy(states []inventory.State, cfg *config.Config, all []*v1.Node) *placement.Placer {
	store := nodes.NewStore(still(states), cfg, placement.Options{})
	// The factory is never started.
	store.Cache().Watch(informers.NewSharedInformerFactory(nil, 0))
	store.Cache().Start()
	fill(store.Cache(), all)
	return store.Placer()
}

// still are states that do not change.
type still []inventory.State

// States returns them.
func (s still) States() []inventory.State { return s }

// AskHome does nothing.
func (still) AskHome(string, string) {}

// ReadTags does nothing.
func (still) ReadTags(string) {}

func lookBy(p *placement.Placer, n *v1.Node) *Look {
	l := &Look{Node: n, Waits: nodeinfo.IsUninitialized(n)}
	if p.IsForeign(n) {
		l.Foreign = true
		return l
	}
	// Decide returns the error too.
	l.Identity, _ = p.Identify(n)
	d := p.Decide(n)
	l.Place = *d
	if l.Err = cmp.Or(d.PlaceErr, d.MachineErr); report.NeverOurs(n, d) {
		l.Foreign = true
		return l
	}
	if l.Waits {
		l.Err = d.Err
		return l
	}
	l.plan()
	if !nodeinfo.IsReady(n) {
		// A VM whose power state is unknown is not off.
		l.Off, _ = p.IsShutDown(n)
	}
	l.Err = cmp.Or(l.Err, nodeinfo.CheckProviderID(n), d.AddressErr)
	return l
}

// plan plans for an initialized Node.
func (l *Look) plan() {
	by := &plan.Policy{Topology: l.Place.Topology}
	now := time.Now()
	l.Differences = by.Differences(l.Node, &l.Place)
	before := make([]plan.Timed, len(l.Differences)) // all have settled
	for i, d := range l.Differences {
		before[i] = plan.Timed{Difference: d, Since: now.Add(-by.Settle)}
	}
	l.Plan = by.For(l.Node, &l.Place, before, before, now)
}

// Reason names Err in a word, as the reason of the daemon's Events does, empty without an error.
func (l *Look) Reason() string {
	if l.Err == nil {
		return ""
	}
	return report.Of(l.Err).Event
}

// Text says what Err is and what to do, as the daemon's Events do, empty without an error.
func (l *Look) Text() string {
	if l.Err == nil {
		return ""
	}
	return report.EventText(l.Err)
}

// VCenter is the vCenter of the machine. While the place is not known, it is the one that the Node's
// annotation names; empty if that names none.
func (l *Look) VCenter() string { return cmp.Or(l.Place.VCenter, l.Identity.Recorded.VCenter) }

// IsControlPlane reports whether the Node is of the control plane, by its labels.
func (l *Look) IsControlPlane() bool {
	_, is := l.Node.Labels["node-role.kubernetes.io/control-plane"]
	_, was := l.Node.Labels["node-role.kubernetes.io/master"]
	return is || was
}

// Above returns the nearest object of one of these types above the machine of a Node on the compute
// path, such as its host, nil if there is none.
func (l *Look) Above(types ...string) *topology.Object {
	if l.Place.Machine == nil {
		return nil
	}
	for _, p := range l.Place.Machine.Paths {
		i := slices.IndexFunc(p.Objects, func(o *topology.Object) bool { return slices.Contains(types, o.Ref.Type) })
		if p.Kind == topology.ComputePath && i >= 0 {
			return p.Objects[i]
		}
	}
	return nil
}
