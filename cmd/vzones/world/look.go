package world

import (
	"cmp"
	"errors"
	"fmt"
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

// Look is the daemon's view of one Node.
type Look struct {
	Node *v1.Node
	// Foreign reports whether the daemon ignores the Node: it belongs to another provider,
	// nodes.selector excludes it, or it is initialized and no vCenter has its VM. Err is set only in the
	// last case.
	Foreign       bool
	Uninitialized bool
	// Off reports whether an initialized Node is not ready and its VM is powered off or suspended.
	Off bool
	// Identity contains the Node's references to its VM, or is zero if they are invalid.
	Identity inventory.Identity
	// Place is the decision about the Node. It is partial if Err is set.
	Place placement.Decision
	// Err is the reason that the Node stays uninitialized, or a problem with the place, the provider ID or
	// the addresses of an initialized Node. Label differences are not errors.
	Err error
	// Differences are the labels of an initialized Node that differ from its place: region, zone,
	// further levels, then the instance type.
	Differences []plan.Difference
	// Plan contains the writes to an initialized Node once its differences have settled. It is nil for an
	// uninitialized or foreign Node.
	Plan *plan.Plan
}

// Look returns the daemon's view of a Node.
func (w *World) Look(n *v1.Node) *Look { return w.claims.look(w.Placer, n) }

// StatesFor returns the states that Look uses for a Node.
func (w *World) StatesFor(n *v1.Node) []inventory.State {
	if w.claims.appliesTo(w.Placer, n) {
		return w.claims.states
	}
	return w.States
}

// claims are the unreadable VMs that the annotations of Nodes name. Such a VM is no candidate for other
// Nodes. A running daemon remembers the owner of a VM; the tool trusts the annotations instead.
type claims struct {
	vms map[topology.Ref]bool
	// placer and states exclude the claimed VMs.
	placer *placement.Placer
	states []inventory.State
}

// appliesTo reports whether the claimed VMs are excluded for a Node, which is so for every managed Node
// without a claim.
func (c *claims) appliesTo(p *placement.Placer, n *v1.Node) bool {
	if len(c.vms) == 0 || p.IsForeign(n) {
		return false
	}
	id, err := p.Identify(n)
	return err == nil && !c.vms[id.Recorded]
}

func (c *claims) look(p *placement.Placer, n *v1.Node) *Look {
	if c.appliesTo(p, n) {
		p = c.placer
	}
	return lookBy(p, n)
}

func claimsIn(p *placement.Placer, cfg *config.Config, states []inventory.State, nodes []*v1.Node) claims {
	c := claims{vms: map[topology.Ref]bool{}, states: slices.Clone(states)}
	for _, id := range reportedIdentities(p, nodes) {
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
				c.vms[id.Recorded] = true
			}
		}
	}
	if len(c.vms) > 0 {
		c.placer = placeBy(c.states, cfg, nodes)
	}
	return c
}

// LooksBy is like World.Look with another configuration and with states that may be hypothetical.
func LooksBy(states []inventory.State, cfg *config.Config, nodes []*v1.Node) func(*v1.Node) *Look {
	p := placeBy(states, cfg, nodes)
	c := claimsIn(p, cfg, states, nodes)
	return func(n *v1.Node) *Look { return c.look(p, n) }
}

func placeBy(states []inventory.State, cfg *config.Config, kubeNodes []*v1.Node) *placement.Placer {
	store := nodes.NewStore(fixedStates(states), cfg, placement.Options{})
	store.Cache().Watch(informers.NewSharedInformerFactory(nil, 0))
	store.Cache().Start()
	fillCache(store.Cache(), kubeNodes)
	return store.Placer()
}

type fixedStates []inventory.State

func (s fixedStates) States() []inventory.State { return s }

func (fixedStates) AskHome(string, string) {}

func (fixedStates) ReadTags(string) {}

func lookBy(p *placement.Placer, n *v1.Node) *Look {
	if p.IsForeign(n) {
		return &Look{Node: n, Uninitialized: nodeinfo.IsUninitialized(n), Foreign: true}
	}
	return lookOf(p, n, p.Decide(n))
}

// lookOf returns the view of a Node that is not foreign.
func lookOf(p *placement.Placer, n *v1.Node, d *placement.Decision) *Look {
	l := &Look{Node: n, Uninitialized: nodeinfo.IsUninitialized(n)}
	// The decision has the same error.
	l.Identity, _ = p.Identify(n)
	l.Place = *d
	if l.Err = cmp.Or(d.PlaceErr, d.VMErr); report.WasNeverManaged(n, d) {
		l.Foreign = true
		return l
	}
	if l.Uninitialized {
		l.Err = d.Err
		return l
	}
	l.plan()
	if !nodeinfo.IsReady(n) {
		// If the power state is unknown, Off stays false.
		l.Off, _ = p.IsShutDown(n)
	}
	l.Err = cmp.Or(l.Err, nodeinfo.CheckProviderID(n), d.AddressErr)
	return l
}

func (l *Look) plan() {
	policy := &plan.Policy{Topology: l.Place.Topology}
	now := time.Now()
	l.Differences = policy.Differences(l.Node, &l.Place)
	settled := make([]plan.Timed, len(l.Differences))
	for i, d := range l.Differences {
		settled[i] = plan.Timed{Difference: d, Since: now.Add(-policy.Settle)}
	}
	l.Plan = policy.For(l.Node, &l.Place, settled, settled, now)
}

// OutOfService describes vzones' out-of-service taint on a Node and the event that ends it, or returns "".
func (l *Look) OutOfService() string {
	taint, isOurs := nodeinfo.OutOfServiceTaint(l.Node)
	if !isOurs {
		return ""
	}
	text := "taint " + taint.ToString()
	if taint.TimeAdded != nil {
		text += " since " + taint.TimeAdded.UTC().Format(time.RFC3339)
	}
	switch {
	case !errors.Is(l.Err, topology.ErrAbsent) || !nodeinfo.IsSilent(l.Node):
		return text + ": the daemon removes it, because the VM is not certainly gone"
	case len(l.Node.Status.VolumesAttached) > 0:
		return text + fmt.Sprintf(": the Node is deleted once its volumes are detached (attached: %d), or after a minute", len(l.Node.Status.VolumesAttached))
	}
	return text + ": no volume is attached, and the daemon deletes the Node"
}

// Reason returns the Event reason of Err, or "".
func (l *Look) Reason() string {
	if l.Err == nil {
		return ""
	}
	return report.OutcomeOfError(l.Err).Event
}

// Text returns the Event message of Err, or "".
func (l *Look) Text() string {
	if l.Err == nil {
		return ""
	}
	return report.EventText(l.Err)
}

// VCenter returns the vCenter of the VM. If the VM is unknown, it returns the vCenter in the Node's
// annotation, or "".
func (l *Look) VCenter() string { return cmp.Or(l.Place.VCenter, l.Identity.Recorded.VCenter) }

// IsControlPlane reports whether the Node has the label of a control plane.
func (l *Look) IsControlPlane() bool {
	_, hasLabel := l.Node.Labels["node-role.kubernetes.io/control-plane"]
	_, hasOldLabel := l.Node.Labels["node-role.kubernetes.io/master"]
	return hasLabel || hasOldLabel
}

// Above returns the nearest object of the given types above the VM on the compute path, or nil.
func (l *Look) Above(types ...string) *topology.Object {
	if l.Place.VM == nil {
		return nil
	}
	for _, p := range l.Place.VM.Paths {
		i := slices.IndexFunc(p.Objects, func(o *topology.Object) bool { return slices.Contains(types, o.Ref.Type) })
		if p.Kind == topology.ComputePath && i >= 0 {
			return p.Objects[i]
		}
	}
	return nil
}
