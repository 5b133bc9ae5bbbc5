package nodes

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/provider/report"
)

const (
	// rewordAfter is the least time between two messages with one status and reason, since the errors of an
	// outage may differ at each attempt.
	rewordAfter = 5 * time.Minute
	// frameworkTime is the time after a Node's initialization during which only the framework writes the condition.
	frameworkTime = 2 * time.Second
)

// readiness is the content of the condition nodeinfo.TopologyReady. Zero means that nothing is written.
type readiness struct {
	status          v1.ConditionStatus
	reason, message string
}

func readinessOfProblem(p report.Problem) readiness {
	v := readiness{v1.ConditionFalse, p.Reason, quote.Note(p.Text)}
	if p.Unknown {
		v.status = v1.ConditionUnknown
	}
	return v
}

func (r *nodeRecord) readinessOf(n *v1.Node, todo *plan.Plan, verdicts []verdict) readiness {
	states := map[string]state{}
	for i := range verdicts {
		states[verdicts[i].about] = verdicts[i].state
	}
	d := r.decision
	switch {
	case mayBeForeign(n, d):
		return r.reportedReadiness(aboutOwner)
	case states[aboutVM] == wrong:
		return r.reportedReadiness(aboutVM)
	case d.VM == nil || todo.Writes():
		return readiness{}
	case states[aboutPlace] == wrong:
		return r.reportedReadiness(aboutPlace)
	case r.hasProblem(aboutDrift):
		return r.reportedReadiness(aboutDrift)
	case len(todo.Drifts) > 0:
		return readiness{}
	case states[aboutLabel] == wrong:
		return r.reportedReadiness(aboutLabel)
	}
	if label := plan.FirstUnwritten(n, d.Placement); label != "" {
		return readiness{v1.ConditionFalse, report.ConditionUnwritten, "label " + label + " is not written, since topology.backfill is false in the configuration: set it to true, or add the label"}
	}
	return readiness{v1.ConditionTrue, report.ConditionCurrent, report.TextCurrent}
}

func (w *writer) writeCondition(ctx context.Context, n *v1.Node, r *nodeRecord, want readiness) time.Duration {
	current := report.ConditionOf(n)
	if want == (readiness{}) || want == (readiness{current.Status, current.Reason, current.Message}) {
		w.limiters.conditions.release(r)
		return 0
	}
	w.store.Lock()
	wait := time.Until(r.initializedAt.Add(frameworkTime))
	if want.status == current.Status && want.reason == current.Reason {
		wait = max(wait, time.Until(r.conditionPatches.endedAt.Add(rewordAfter)))
	}
	w.store.Unlock()
	if wait > 0 {
		return wait
	}
	return w.sendCondition(ctx, n, r, fmt.Sprint(want), report.NewCondition(n, want.status, want.reason, want.message))
}

// removeCondition is for a Node that got the condition while it had no provider ID, but is not in vSphere or another
// provider's.
func (w *writer) removeCondition(ctx context.Context, n *v1.Node, r *nodeRecord) time.Duration {
	return w.sendCondition(ctx, n, r, "none", map[string]any{"$patch": "delete", "type": nodeinfo.TopologyReady})
}

func (w *writer) sendCondition(ctx context.Context, n *v1.Node, r *nodeRecord, content string, condition any) time.Duration {
	return w.send(ctx, n, r, &r.conditionPatches, w.limiters.conditions, patch{
		description: "the condition", kind: types.StrategicMergePatchType, content: content, subresources: []string{"status"},
		body: map[string]any{"metadata": map[string]any{"uid": n.UID}, "status": map[string]any{"conditions": []any{condition}}},
	})
}
