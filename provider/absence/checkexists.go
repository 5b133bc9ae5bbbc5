package absence

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/provider/nodecache"
	"vzones/provider/nodestate"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// A Checker decides whether Nodes' machines exist, for the framework, which deletes the
// Nodes of those that do not.
type Checker struct {
	fleet     Fleet
	placer    *placement.Placer
	nodes     *nodecache.Cache
	confirmer *Confirmer
}

// NewChecker returns a checker that has absences confirmed by Run.
func NewChecker(fleet Fleet, placer *placement.Placer) *Checker {
	return &Checker{fleet: fleet, placer: placer, nodes: placer.NodeCache(), confirmer: NewConfirmer(fleet)}
}

// Run searches for absent machines until the context is done. It calls ended, which must not
// wait, with each Node whose search has a result.
func (c *Checker) Run(ctx context.Context, ended func(types.UID)) { c.confirmer.Run(ctx, ended) }

// Drop ends the confirmation for a Node whose machine is not absent, or that is gone.
func (c *Checker) Drop(node types.UID) { c.confirmer.Drop(node) }

// CheckExists reports whether a Node's machine exists. False makes the
// framework delete the Node, so it is said only of a Node with a provider ID whose machine vzones
// had found (the Node's annotation or this process says where), that no vCenter's complete index
// has, and that a direct search of every vCenter has not found since then.
// Anything short of that is an error, and so is an absence where the configuration has
// no Node deleted. A Node of another provider always exists.
//
// It does not wait: the search goes on beside it, and the framework, which asks about
// each Node that is not ready every few seconds, gets the latest result.
func (c *Checker) CheckExists(ctx context.Context, node *v1.Node) (bool, error) {
	if c.placer.IsForeign(node) {
		return true, nil
	}
	id, err := c.absence(c.fleet.States(), node)
	if err == nil {
		err = c.isCurrent(node)
	}
	if err != nil {
		c.confirmer.Drop(node.UID)
		if errors.Is(err, errExists) {
			return true, nil
		}
		return false, err
	}
	if err := c.confirmer.Ask(node.UID, id); err != nil {
		return false, topology.Errorf(topology.ErrUnknown, "the machine with %s: %w", id, err)
	}
	klog.FromContext(ctx).Info("Every vCenter was searched and none has the machine", "node", klog.KObj(node),
		"vCenter", quote.Plain(cmp.Or(id.LastSeen.VCenter, id.Recorded.VCenter)), "machine", id.String())
	return false, nil
}

// errExists says that a machine exists.
var errExists = errors.New("the machine exists")

// errDisabled says that no Node is deleted.
var errDisabled = errors.New("nodes.skipDeletion is set in the configuration")

// absence returns the machine of a Node if the Node is to be deleted once a search has
// confirmed that no vCenter has it, and otherwise why not: errExists, or an error that
// is topology.ErrUnknown.
func (c *Checker) absence(states []inventory.State, node *v1.Node) (inventory.Identity, error) {
	q := &question{of: c, states: states, node: node}
	for _, check := range []func() error{q.isNamed, q.isAbsent, q.wasFound, q.isEnabled} {
		if err := check(); err != nil {
			return q.id, err
		}
	}
	return q.id, nil
}

// A question is whether a Node is to be deleted, by states. Each of its checks returns why it is
// not; they are asked in this order.
type question struct {
	of     *Checker
	states []inventory.State
	node   *v1.Node
	id     inventory.Identity
	// absent is what the snapshots say of the machine.
	absent error
}

func (q *question) isNamed() (err error) {
	q.id, err = q.of.placer.Identify(q.node)
	q.id.Running = false // a machine that is off exists, whatever the Node is
	return err
}

func (q *question) isAbsent() error {
	q.absent = missing(q.states, q.id)
	q.of.placer.AskHome(q.absent)
	if q.absent == nil {
		return errExists
	}
	if !errors.Is(q.absent, topology.ErrAbsent) {
		return q.absent
	}
	return nil
}

// wasFound returns an error unless the Node is initialized and vzones has found its machine before. A
// provider ID alone may be from another provider or a kubelet, for a machine that no configured vCenter
// shows to the account.
func (q *question) wasFound() error {
	var err error
	switch {
	case q.node.Spec.ProviderID == "":
		err = topology.Errorf(topology.ErrUnknown, "Node %s has no provider ID yet", q.node.Name)
	case q.id.LastSeen.VCenter == "" && q.id.Recorded == (topology.Ref{}):
		err = topology.Errorf(topology.ErrUnknown, "vzones has never found the machine of Node %s: if it is gone, delete the Node", q.node.Name)
	}
	if err != nil && q.absent != nil {
		err = fmt.Errorf("%w: %w", err, q.absent)
	}
	return err
}

func (q *question) isEnabled() error {
	switch {
	case !q.of.placer.Config().SkipNodeDeletion:
		return nil
	case q.absent == nil:
		return errDisabled
	}
	return topology.Errorf(topology.ErrUnknown, "Node %s is kept, since %w: %w", q.node.Name, errDisabled, q.absent)
}

// isCurrent returns an error if by now another Node has the name, or the Node is ready
// again, or is not ours any more. The framework deletes by name, from a list that may be minutes old.
func (c *Checker) isCurrent(node *v1.Node) error {
	if !c.nodes.IsStarted() {
		return nil
	}
	now, err := c.nodes.Get(node.Name)
	switch {
	case err != nil:
		return nil //nolint:nilerr // it is gone
	case now.UID != node.UID:
		return topology.Errorf(topology.ErrUnknown, "there is another Node %s now", node.Name)
	case c.placer.IsForeign(now):
		return topology.Errorf(topology.ErrUnknown, "Node %s is not managed by vzones any more", node.Name)
	case nodestate.IsReady(now):
		return topology.Errorf(topology.ErrUnknown, "Node %s is ready again", node.Name)
	}
	return nil
}

// A Result is what is known of the absence of a Node's machine.
type Result struct {
	// Absent reports whether the machine is absent by all snapshots and the Node would be
	// deleted once a search has confirmed that.
	Absent bool
	// Searching reports whether the search is still under way.
	Searching bool
	// Kept is why the Node is not deleted, nil if the machine exists or the framework may
	// delete the Node.
	Kept error
}

// KeptBy returns the reason for which the Node is kept, empty if it is not.
func (r *Result) KeptBy() string {
	switch {
	case r.Searching:
		return KeptBy(ErrConfirming)
	case r.Kept != nil:
		return KeptBy(r.Kept)
	}
	return ""
}

// Confirm starts a search that confirms the absence of a Node's machine if the framework would delete the
// Node, so that there is an answer when it asks.
func (c *Checker) Confirm(states []inventory.State, n *v1.Node) Result {
	id, err := c.wouldDelete(states, n)
	r := Result{Absent: err == nil}
	if r.Absent {
		c.confirmer.Want(n.UID, id)
		err = c.confirmer.Peek(n.UID, id)
	}
	switch {
	case errors.Is(err, ErrConfirming) && !errors.Is(err, ErrSearchFailed):
		r.Searching = true
	case !errors.Is(err, errExists):
		r.Kept = err
	}
	return r
}

// wouldDelete is absence for Nodes that the framework asks about and that were found
// once. For others it returns errExists.
func (c *Checker) wouldDelete(states []inventory.State, n *v1.Node) (inventory.Identity, error) {
	if nodestate.IsReady(n) || n.Spec.ProviderID == "" {
		return inventory.Identity{}, errExists
	}
	return c.absence(states, n)
}
