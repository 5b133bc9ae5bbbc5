package nodes

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/report"
	"vzones/topology/quote"
)

const (
	// rewordAfter is how long a message stays that only says the same in other words, or of other
	// labels: the errors of one outage may differ from one attempt to the next.
	rewordAfter = 5 * time.Minute
	// frameworkTime is how long the framework may take to write the condition with the addresses of
	// a Node that it has initialized.
	frameworkTime = 2 * time.Second
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

// writeReady has the condition of a Node say something, unless it does. It returns when that has to
// be tried again. Conditions are merged by their type, so that those of others stay.
func (c *Controller) writeReady(ctx context.Context, l *labeler, n *v1.Node, s *state, says readiness) time.Duration {
	was := report.ReadyOf(n)
	if says == (readiness{}) || says == (readiness{was.Status, was.Reason, was.Message}) {
		s.ready.turn.done()
		return 0
	}
	c.mu.Lock()
	wait := time.Until(s.initialized.Add(frameworkTime))
	if says.status == was.Status && says.reason == was.Reason {
		wait = max(wait, time.Until(s.ready.at.Add(rewordAfter)))
	}
	c.mu.Unlock()
	if wait > 0 {
		return wait
	}
	to := report.Ready(n, says.status, says.reason, says.message)
	return c.send(ctx, n, s, &s.ready, l.readyPace, patch{
		about: "the condition", kind: types.StrategicMergePatchType, content: fmt.Sprint(says), subresources: []string{"status"},
		body: map[string]any{"metadata": map[string]any{"uid": n.UID}, "status": map[string]any{"conditions": []v1.NodeCondition{to}}},
	})
}
