// Package nodes is the controller of Nodes.
//
// It has the fleet follow the machines of all Nodes, announces a Node to the framework once
// it can be initialized, annotates Nodes with the location of their machines, and records
// in Events what a person has to act on.
package nodes

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"errors"

	"vzones/provider/absence"
	"vzones/provider/condition"
	"vzones/provider/identity"
	"vzones/provider/nodecache"
	"vzones/provider/nodestate"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"

	v1 "k8s.io/api/core/v1"
)

// Fleet is what the controller needs of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// Follow says of which machines the details are wanted.
	Follow([]inventory.Identity)
	// Subscribe returns a channel that is notified when a state has changed.
	Subscribe() <-chan struct{}
	// Probe has a vCenter prove that it answers: its state gets a new Contact,
	// and subscribers are notified, or it gets into trouble.
	Probe(vcenter string)
	// ReadTags has a vCenter's tags read soon, with the names of those that matter.
	// Subscribers are notified then, whatever the result is.
	ReadTags(vcenter string)
	// SearchOutside returns inventory.ErrOutside if a machine that no index has is
	// in none of the configured datacenters. Nil says nothing.
	SearchOutside(context.Context, inventory.Identity) error
}

// A Controller looks after the Nodes of a placer.
type Controller struct {
	fleet   Fleet
	placer  *placement.Placer
	checker *absence.Checker
	nodes   *nodecache.Cache
	client  kubernetes.Interface
}

// New returns a controller that does nothing until Run.
func New(fleet Fleet, placer *placement.Placer, checker *absence.Checker, client kubernetes.Interface) *Controller {
	return &Controller{fleet: fleet, placer: placer, checker: checker, nodes: placer.NodeCache(), client: client}
}

// KeptHelp explains the reasons of Kept in a line.
const KeptHelp = absence.KeptHelp

// EventReasons returns the reasons of the Events about what a Node waits for, or what keeps
// it, for whoever documents them or alerts on them.
func EventReasons() []string { return condition.EventReasons() }

// Kept counts the Nodes that are not ready and whose machines are not found, by why they
// are not deleted. Every reason is in the result. Before the Nodes are known all are 0.
func (c *Controller) Kept() map[string]int { return c.checker.Kept() }

// OutcomesHelp explains the outcomes in a line.
const OutcomesHelp = condition.Help

// Outcomes counts the Nodes by what is known of them now, and those of them that are not
// initialized as the same. Every outcome is in both results. Before the Nodes are known all
// are 0. A Node that waits and is placed is about to be initialized.
func (c *Controller) Outcomes() (all, waiting map[string]int) {
	all, waiting = condition.Counts(), condition.Counts()
	if !c.nodes.IsStarted() {
		return all, waiting
	}
	for _, n := range c.nodes.All() {
		o := c.outcomeOf(n)
		all[o]++
		if nodestate.IsUninitialized(n) {
			waiting[o]++
		}
	}
	return all, waiting
}

func (c *Controller) outcomeOf(n *v1.Node) string {
	if c.placer.IsForeign(n) {
		return condition.Foreign
	}
	d, err := c.placer.Describe(n)
	if err == nil && nodestate.IsUninitialized(n) {
		err = d.Waits(n)
	}
	switch {
	case err == nil:
		return condition.Placed
	case (errors.Is(err, topology.ErrAbsent) || errors.Is(err, identity.ErrNoUUID)) && n.Spec.ProviderID == "" && !nodestate.IsUninitialized(n):
		return condition.Foreign // it never was ours, and waits for nothing
	}
	return condition.Of(err).Name
}
