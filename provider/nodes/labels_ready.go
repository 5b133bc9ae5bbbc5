package nodes

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/provider/placement"
	"vzones/provider/plan"
)

// readiness returns what the condition says of a Node whose machine is known, by what Events have said
// and, if they have said nothing, by its labels. It says that they are right only if everything that
// they rest on is known.
func (k *labelState) readiness(n *v1.Node, place *placement.Place, todo *plan.Plan) readiness {
	unknown := place.Placement.Uncertainty()
	if unknown == nil {
		k.unsure = unsure{}
	}
	last, isUnplaced := k.recorded[unplaced]
	drift, drifted := k.recorded[reasonDrift]
	switch {
	case place.Machine == nil || todo.Writes():
		return readiness{} // the labels first
	case k.unplaced != "":
		if isUnplaced && last.text == k.unplaced {
			return readinessBy(last.said)
		}
		return readiness{}
	case drifted:
		return readinessBy(drift.said)
	case len(todo.Drifts) > 0:
		return readiness{}
	case unknown != nil:
		return k.unsure.readiness(unknown)
	}
	if label := plan.Lacking(n, place.Placement); label != "" {
		return readiness{v1.ConditionFalse, condition.ReasonUnwritten, "label " + label + " is not written, since topology.backfill is false in the configuration: set it to true, or add the label"}
	}
	return readiness{v1.ConditionTrue, condition.ReasonCurrent, condition.TextCurrent}
}

// readinessOfAnother returns what the condition says of a Node that may not be ours, by an error:
// nothing, unless it has one, which may have been right when it was written.
func (u *unsure) readinessOfAnother(n *v1.Node, err error) readiness {
	if condition.ReadyOf(n).Status == "" {
		return readiness{}
	}
	return u.readiness(err)
}

// readiness returns what the condition says once a label has not been known for a while. No Event
// says so: the Node can do without it, or has what can be read.
func (u *unsure) readiness(err error) readiness {
	if key := condition.Key(err); key != u.key {
		*u = unsure{key, time.Now(), said{condition.Of(err).Event, condition.Message(err), err}}
	}
	if time.Since(u.since) < unknownBeforeEvent {
		return readiness{}
	}
	return readinessBy(u.said)
}
