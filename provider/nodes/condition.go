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
	// rewordAfter is how long a message stays if only the message changes, because the errors of an outage may differ
	// from one attempt to the next.
	rewordAfter = 5 * time.Minute
	// frameworkTime is how long the framework may take to write the condition of a Node that it has initialized.
	frameworkTime = 2 * time.Second
)

// readiness is the content of the condition nodeinfo.TopologyReady. Zero means that nothing is written, because the Node
// is not ours or its problem is too recent.
type readiness struct {
	status          v1.ConditionStatus
	reason, message string
}

func readinessBy(p report.Problem) readiness {
	v := readiness{v1.ConditionFalse, p.Reason, quote.Note(p.Text)}
	if p.Unknown {
		v.status = v1.ConditionUnknown
	}
	return v
}

// readinessOf returns the condition of an initialized Node: its gravest problem, or the state of its labels. It is True
// only if all facts behind the labels are known.
func (r *record) readinessOf(n *v1.Node, todo *plan.Plan, found []verdict) readiness {
	is := map[string]state{}
	for i := range found {
		is[found[i].about] = found[i].state
	}
	d := r.decision
	switch {
	case mayBeAnothers(n, d):
		return r.readiness(aboutOwner)
	case is[aboutMachine] == wrong:
		return r.readiness(aboutMachine)
	case d.Machine == nil || todo.Writes():
		return readiness{}
	case is[aboutPlace] == wrong:
		return r.readiness(aboutPlace)
	case r.has(aboutDrift):
		return r.readiness(aboutDrift)
	case len(todo.Drifts) > 0:
		return readiness{}
	case is[aboutLabel] == wrong:
		return r.readiness(aboutLabel)
	}
	if label := plan.Lacking(n, d.Placement); label != "" {
		return readiness{v1.ConditionFalse, report.ConditionUnwritten, "label " + label + " is not written, since topology.backfill is false in the configuration: set it to true, or add the label"}
	}
	return readiness{v1.ConditionTrue, report.ConditionCurrent, report.TextCurrent}
}

func (w *writer) writeCondition(ctx context.Context, n *v1.Node, r *record, says readiness) time.Duration {
	was := report.ConditionOf(n)
	if says == (readiness{}) || says == (readiness{was.Status, was.Reason, was.Message}) {
		w.limiters.conditions.release(r)
		return 0
	}
	w.store.Lock()
	wait := time.Until(r.initialized.Add(frameworkTime))
	if says.status == was.Status && says.reason == was.Reason {
		wait = max(wait, time.Until(r.condition.at.Add(rewordAfter)))
	}
	w.store.Unlock()
	if wait > 0 {
		return wait
	}
	return w.sendCondition(ctx, n, r, fmt.Sprint(says), report.NewCondition(n, says.status, says.reason, says.message))
}

// removeCondition removes the condition from a Node that is not ours. It was written while the Node had the taint.
func (w *writer) removeCondition(ctx context.Context, n *v1.Node, r *record) time.Duration {
	return w.sendCondition(ctx, n, r, "none", map[string]any{"$patch": "delete", "type": nodeinfo.TopologyReady})
}

func (w *writer) sendCondition(ctx context.Context, n *v1.Node, r *record, content string, condition any) time.Duration {
	return w.send(ctx, n, r, &r.condition, w.limiters.conditions, patch{
		about: "the condition", kind: types.StrategicMergePatchType, content: content, subresources: []string{"status"},
		body: map[string]any{"metadata": map[string]any{"uid": n.UID}, "status": map[string]any{"conditions": []any{condition}}},
	})
}
