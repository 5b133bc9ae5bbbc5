package nodes

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/topology/quote"
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
