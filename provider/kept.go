package provider

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// reasonNotDeleted is the reason of the Event that tells why a Node is not deleted.
const reasonNotDeleted = "NodeNotDeleted"

// kept are the reasons for which Nodes are not deleted that are not ready and whose
// machines are not found, in the order in which an error is compared with them. The
// last is for whatever is none of them.
var kept = []struct {
	err error
	// name is the value of the metric's label.
	name string
}{
	{errDisabled, "deletion_disabled"},
	{errConfirming, "being_confirmed"},
	{errSearchFailed, "search_failed"},
	{errStillThere, "found_by_search"},
	{inventory.ErrOutside, "outside_datacenters"},
	{inventory.ErrUnreachable, "vcenter_unreachable"},
	{inventory.ErrUnreadable, "machine_unreadable"},
	{topology.ErrUnknown, "unknown"},
}

// keptBy returns the reason that an error stands for.
func keptBy(err error) string {
	for _, k := range kept {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return kept[len(kept)-1].name
}

// keyOfKept is the same for errors that tell a person the same. That a search fails is
// the same for all machines.
func keyOfKept(err error) string {
	reason := keptBy(err)
	if errors.Is(err, errSearchFailed) {
		reason = keptBy(errSearchFailed)
	}
	return reason + " " + strings.Join(inventory.UnreachableIn(err), " ")
}

// KeptHelp explains the reasons in a line.
const KeptHelp = "deletion_disabled (nodes.skipDeletion), being_confirmed (every vCenter is being searched), search_failed (a vCenter could not be), " +
	"found_by_search, outside_datacenters, vcenter_unreachable, machine_unreadable (one that may be it), unknown (something else is)"

// Kept counts the Nodes that are not ready and whose machines are not found, by why they
// are not deleted. Every reason is in the result. Before the Nodes are known all are 0.
func (p *Provider) Kept() map[string]int {
	counts := map[string]int{}
	for _, k := range kept {
		counts[k.name] = 0
	}
	if !p.leads() {
		return counts
	}
	nodes, err := p.nodes.NodeInformer.Lister().List(labels.Everything())
	if err != nil {
		return counts
	}
	states := p.fleet.States()
	for _, n := range nodes {
		if p.isForeign(n) {
			continue
		}
		id, err := p.wouldDelete(states, n)
		if err == nil {
			err = p.confirmations.peek(n.UID, id)
		}
		if err != nil && !errors.Is(err, errExists) {
			counts[keptBy(err)]++
		}
	}
	return counts
}
