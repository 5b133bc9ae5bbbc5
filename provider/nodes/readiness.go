package nodes

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/provider/keys"
	"vzones/topology/quote"
)

// The reasons of the condition keys.TopologyReady that are not those of an Event.
const (
	// readyCurrent is that of a Node whose labels are those of its machine's place.
	readyCurrent = "TopologyCurrent"
	// readyText is the message beside it.
	readyText = "the Node has the topology labels of its machine's place"
)

// readiness is what the condition keys.TopologyReady of a Node says. While it is zero nothing is
// written: the Node is not ours, or what is wrong with it has not lasted yet.
type readiness struct {
	status          v1.ConditionStatus
	reason, message string
}

// readinessBy is what an Event has said.
func readinessBy(of said) readiness {
	v := readiness{v1.ConditionFalse, of.reason, quote.Note(of.text)}
	if of.err != nil && condition.IsUnknown(of.err) {
		v.status = v1.ConditionUnknown
	}
	return v
}

// topologyReady returns the condition of a Node, zero if it has none.
func topologyReady(n *v1.Node) v1.NodeCondition {
	if i := slices.IndexFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == keys.TopologyReady }); i >= 0 {
		return n.Status.Conditions[i]
	}
	return v1.NodeCondition{}
}
