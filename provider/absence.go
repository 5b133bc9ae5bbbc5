package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// InstanceExists says whether a Node's machine exists. False makes the
// framework delete the Node, so it is said only of a machine that had been
// found once (the Node has its provider ID), that no vCenter's complete index
// has, and that a direct search of every vCenter has not found since then.
// Anything short of that is an error, and so is an absence where the configuration has
// no Node deleted. A Node of another provider always exists.
//
// It does not wait: the search goes on beside it, and the framework, which asks about
// each Node that is not ready every few seconds, gets the latest result.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	if p.isForeign(node) {
		return true, nil
	}
	id, err := p.absence(p.fleet.States(), node)
	if err == nil {
		err = p.isCurrent(node)
	}
	if err != nil {
		p.confirmations.drop(node.UID)
		if errors.Is(err, errExists) {
			return true, nil
		}
		return false, err
	}
	if err := p.confirmations.ask(node.UID, id); err != nil {
		return false, fmt.Errorf("%w: the machine with %s: %w", topology.ErrUnknown, id, err)
	}
	p.deletions.approve(node)
	klog.FromContext(ctx).Info("Every vCenter was searched and none has the machine", "node", klog.KObj(node), "machine", id.String())
	return false, nil
}

// errExists says that a machine exists.
var errExists = errors.New("the machine exists")

// errDisabled says that no Node is deleted.
var errDisabled = errors.New("nodes.skipDeletion is set in the configuration")

// absence returns the machine of a Node if the Node is to be deleted once a search has
// confirmed that no vCenter has it, and otherwise why not: errExists, or an error that
// is topology.ErrUnknown.
func (p *Provider) absence(states []inventory.State, node *v1.Node) (inventory.Identity, error) {
	id, err := p.identify(node)
	if err != nil {
		return id, err
	}
	switch err := missing(states, id); {
	case err == nil:
		return id, errExists
	case !errors.Is(err, topology.ErrAbsent):
		return id, err
	case node.Spec.ProviderID == "":
		return id, fmt.Errorf("%w: the machine of Node %s was never found, so nothing tells that it is gone: %w", topology.ErrUnknown, node.Name, err)
	case p.settings.Load().cfg.SkipNodeDeletion:
		return id, fmt.Errorf("%w: Node %s is kept, since %w: %w", topology.ErrUnknown, node.Name, errDisabled, err)
	}
	return id, nil
}

// missing returns nil if a machine exists, topology.ErrAbsent if every vCenter was read
// completely and none has it, and topology.ErrUnknown otherwise.
func missing(states []inventory.State, id inventory.Identity) error {
	if inventory.Indexed(states, id) {
		return nil
	}
	_, err := inventory.Find(states, id)
	if errors.Is(err, topology.ErrAmbiguous) {
		return nil
	}
	return err
}

// isCurrent returns an error if by now another Node has the name, or the Node is ready
// again, or is none of ours any more. The framework deletes by name, from a list that may be minutes old.
func (p *Provider) isCurrent(node *v1.Node) error {
	if !p.leads() {
		return nil
	}
	now, err := p.nodes.NodeInformer.Lister().Get(node.Name)
	switch {
	case err != nil:
		return nil //nolint:nilerr // it is gone
	case now.UID != node.UID:
		return fmt.Errorf("%w: there is another Node %s now", topology.ErrUnknown, node.Name)
	case p.isForeign(now):
		return fmt.Errorf("%w: Node %s is not looked after by vzones any more", topology.ErrUnknown, node.Name)
	case isReady(now):
		return fmt.Errorf("%w: Node %s is ready again", topology.ErrUnknown, node.Name)
	}
	return nil
}

// isReady reports whether a Node is ready. The framework asks about all others.
func isReady(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// attendAbsent has the absence of a machine confirmed if the framework would delete its
// Node, so that there is an answer when it asks, and has an Event tell what keeps the
// Node. It returns how long that still takes, 0 if nothing is to be told, and whether
// the machine is absent.
func (r *rounds) attendAbsent(n *v1.Node, here *attended) (time.Duration, bool) {
	id, err := r.provider.wouldDelete(r.states, n)
	absent := err == nil
	if absent {
		r.provider.confirmations.want(n.UID, id)
		err = r.provider.confirmations.peek(n.UID, id)
	}
	switch {
	case errors.Is(err, errConfirming) && !errors.Is(err, errSearchFailed):
		return retryMin, absent // to see what came of it
	case err == nil, errors.Is(err, errExists):
		here.kept = grievance{}
		return 0, absent
	}
	why := fmt.Errorf("the Node is not ready and its machine is not found, but the Node is not deleted: %w", err)
	return here.kept.tell(keyOfKept(err), patienceRunning, func() time.Duration {
		return r.teller.tell(complaint{node: n, what: "Node is not deleted", err: why, event: reasonNotDeleted})
	}), absent
}

// wouldDelete is absence for Nodes that the framework asks about and that were found
// once. For others it returns errExists.
func (p *Provider) wouldDelete(states []inventory.State, n *v1.Node) (inventory.Identity, error) {
	if isReady(n) || n.Spec.ProviderID == "" {
		return inventory.Identity{}, errExists
	}
	return p.absence(states, n)
}
