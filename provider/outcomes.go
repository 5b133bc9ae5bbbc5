package provider

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// outcome is what looking for a Node's machine and its place can come to. A Node
// that is initialised is judged by the same rules as one that waits.
type outcome struct {
	// err is what the error of describe is, nil for a Node that is placed.
	err error
	// name is the value of the metric's label.
	name string
	// event is the reason of the Event of a Node that waits for it.
	event string
}

const (
	outcomePlaced  = "placed"
	outcomeForeign = "foreign"
)

// unplaced are the outcomes of Nodes that are not placed, in the order in which
// an error is compared with them. The last is for whatever is none of them.
var unplaced = []outcome{
	{errContradiction, "provider_id_mismatch", "ProviderIDMismatch"},
	{errTwin, "machine_of_two_nodes", "MachineOfTwoNodes"},
	{errNoUUID, "system_uuid_missing", "SystemUUIDMissing"},
	{topology.ErrMissing, "topology_missing", "TopologyMissing"},
	{topology.ErrInvalid, "topology_invalid", "TopologyInvalid"},
	{topology.ErrAmbiguous, "ambiguous", "Ambiguous"},
	{topology.ErrAbsent, "machine_not_found", "MachineNotFound"},
	{errUnwritten, "label_unwritten", "LabelUnwritten"},
	{errAddressClaimed, "address_conflict", "AddressConflict"},
	{errNoAddress, "address_missing", "AddressMissing"},
	{inventory.ErrOutside, "outside_datacenters", "MachineOutsideDatacenters"},
	{inventory.ErrUnreachable, "vcenter_unreachable", "VCenterUnreachable"},
	{inventory.ErrUnreadable, "machine_unreadable", "MachineUnreadable"},
	{topology.ErrUnknown, "unknown", "VCenterUnknown"},
}

// judge returns the outcome that an error of describe stands for.
func judge(err error) outcome {
	for _, o := range unplaced {
		if errors.Is(err, o.err) {
			return o
		}
	}
	return unplaced[len(unplaced)-1]
}

// key is the same for errors that tell a person the same. A vCenter in trouble
// says it in many ways.
func key(err error) string {
	vcenters := inventory.UnreachableIn(err)
	if len(vcenters) == 0 {
		return err.Error()
	}
	return judge(err).event + " " + strings.Join(vcenters, " ")
}

// EventReasons returns the reasons of the Events that tell what a Node waits for, or
// what keeps it, for whoever documents them or alerts on them.
func EventReasons() []string {
	var reasons []string
	for _, o := range unplaced {
		reasons = append(reasons, o.event)
	}
	return append(reasons, reasonNotDeleted)
}

// OutcomesHelp explains the outcomes in a line.
const OutcomesHelp = "placed; foreign (not ours: another provider's, or unknown to vSphere and waiting for nothing); topology_missing (a required tag), topology_invalid (no label value), " +
	"ambiguous (several machines or tags), provider_id_mismatch (the system UUID is another machine's), machine_of_two_nodes (another Node has it too), system_uuid_missing (nodes.matchByName is false), machine_not_found, label_unwritten (topology-controller does not write a label), address_conflict (another Node has the address), address_missing, outside_datacenters, vcenter_unreachable, machine_unreadable (inaccessible or orphaned), unknown (a vCenter cannot say)"

// Outcomes counts the Nodes by what is known of them now, and those of them that are not
// initialized as the same. Every outcome is in both results. Before the Nodes are known all
// are 0. A Node that waits and is placed is about to be initialized.
func (p *Provider) Outcomes() (all, waiting map[string]int) {
	all, waiting = noOutcomes(), noOutcomes()
	if !p.leads() {
		return all, waiting
	}
	nodes, err := p.nodes.NodeInformer.Lister().List(labels.Everything())
	if err != nil {
		return all, waiting
	}
	for _, n := range nodes {
		o := p.outcomeOf(n)
		all[o]++
		if isUninitialized(n) {
			waiting[o]++
		}
	}
	return all, waiting
}

func noOutcomes() map[string]int {
	counts := map[string]int{outcomePlaced: 0, outcomeForeign: 0}
	for _, o := range unplaced {
		counts[o.name] = 0
	}
	return counts
}

func (p *Provider) outcomeOf(n *v1.Node) string {
	if p.isForeign(n) {
		return outcomeForeign
	}
	d, err := p.describe(n)
	if err == nil && isUninitialized(n) {
		err = d.waits(n)
	}
	switch {
	case err == nil:
		return outcomePlaced
	case (errors.Is(err, topology.ErrAbsent) || errors.Is(err, errNoUUID)) && n.Spec.ProviderID == "" && !isUninitialized(n):
		return outcomeForeign // it never was ours, and waits for nothing
	}
	return judge(err).name
}
