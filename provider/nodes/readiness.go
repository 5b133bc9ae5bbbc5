package nodes

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/report"
	"vzones/topology/quote"
)

// readiness is what the condition keys.TopologyReady of a Node says. While it is zero nothing is
// written: the Node is not ours, or what is wrong with it has not lasted yet.
type readiness struct {
	status          v1.ConditionStatus
	reason, message string
}

// readinessBy is what an Event has said.
func readinessBy(p report.Problem) readiness {
	v := readiness{v1.ConditionFalse, p.Reason, quote.Note(p.Text)}
	if p.Unknown {
		v.status = v1.ConditionUnknown
	}
	return v
}
