package world

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// A Look is what the daemon makes of one Node.
type Look struct {
	Node *v1.Node
	// StandIn reports whether the Node stands for a machine that a flag names. It has no labels,
	// so nothing disagrees with it.
	StandIn bool
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
func (w *World) Look(n *v1.Node) *Look {
	l := LookBy(w.Placer, n)
	l.StandIn = w.standIns
	return l
}

// LookBy is Look by a placer, such as one of PlaceBy.
func LookBy(p *placement.Placer, n *v1.Node) *Look {
	l := &Look{Node: n, Waits: nodeinfo.IsUninitialized(n)}
	if p.IsForeign(n) {
		l.Foreign = true
		return l
	}
	l.Identity, _ = p.Identify(n) // Decide has the error too
	d := p.Decide(n)
	l.Place = *d
	if l.Err = cmp.Or(d.PlaceErr, d.MachineErr); report.NeverOurs(n, l.Err) {
		l.Foreign = true
		return l
	}
	if l.Waits {
		l.Err = d.Err
		return l
	}
	l.plan()
	if !nodeinfo.IsReady(n) {
		l.Off, _ = p.IsShutDown(n) // what is not known does not count
	}
	l.Err = cmp.Or(l.Err, d.AddressErr)
	return l
}

// plan plans for an initialized Node.
func (l *Look) plan() {
	by, now := &plan.Policy{Topology: l.Place.Topology}, time.Now()
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
	return report.Message(l.Err)
}
