package nodes

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
)

// labelReadiness returns what the condition says of a Node whose machine is known, by what Events have
// said and, if they have said nothing, by its labels, and when that is to be asked again. It says that
// they are right only if everything that they rest on is known.
func (s *state) labelReadiness(n *v1.Node, place *placement.Place, todo *plan.Plan) (readiness, time.Duration) {
	unknown := place.Placement.Uncertainty()
	if unknown == nil {
		delete(s.problems, aboutLabel)
	}
	switch {
	case place.Machine == nil || todo.Writes():
		return readiness{}, 0 // the labels first
	case s.has(aboutPlace):
		return s.readiness(aboutPlace), 0
	case s.has(aboutDrift):
		return s.readiness(aboutDrift), 0
	case len(todo.Drifts) > 0:
		return readiness{}, 0
	case unknown != nil:
		return s.isNotKnown(aboutLabel, unknown)
	}
	if label := plan.Lacking(n, place.Placement); label != "" {
		return readiness{v1.ConditionFalse, report.ConditionUnwritten, "label " + label + " is not written, since topology.backfill is false in the configuration: set it to true, or add the label"}, 0
	}
	return readiness{v1.ConditionTrue, report.ConditionCurrent, report.TextCurrent}, 0
}
