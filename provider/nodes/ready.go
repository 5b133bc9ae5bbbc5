package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/provider/report"
)

// rewordAfter is how long a message stays that only says the same in other words, or of other
// labels: the errors of one outage may differ from one attempt to the next.
const rewordAfter = 5 * time.Minute

// writeReady has the condition of a Node say something, unless it does. It returns when that has to
// be tried again.
func (c *Controller) writeReady(ctx context.Context, l *labeler, n *v1.Node, s *state, says readiness) time.Duration {
	was := report.ReadyOf(n)
	if says == (readiness{}) || says == (readiness{was.Status, was.Reason, was.Message}) {
		s.ready.pace.done()
		return 0
	}
	if wait := c.readyDelay(s, says, says.status == was.Status && says.reason == was.Reason); wait > 0 {
		return wait
	}
	if wait := s.ready.pace.wait(l.readyPace); wait > 0 {
		return wait
	}
	s.ready.pace.done()
	c.startWrite(s, func() {
		err := c.writeCondition(ctx, n, says)
		if ctx.Err() == nil {
			c.noteReady(ctx, n, s, says, err)
		}
	}, func() { c.queue.Add(itemOf(n)) })
	return 0
}

// frameworkTime is how long the framework may take to write the condition with the addresses of a
// Node that it has initialized.
const frameworkTime = 2 * time.Second

// readyDelay returns how long the condition must not be written: while another write of the Node is
// under way, for a while after the same was written, for longer if only the message differs, and
// while the framework may write it.
func (c *Controller) readyDelay(s *state, says readiness, reworded bool) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := time.Until(s.ready.next)
	switch {
	case s.writing:
		return writePause
	case s.ready.written == says && again > 0:
		return again
	case reworded:
		return max(time.Until(s.ready.since.Add(rewordAfter)), 0)
	}
	return max(time.Until(s.initialized.Add(frameworkTime)), 0)
}

// noteReady notes the result of a write.
func (c *Controller) noteReady(ctx context.Context, n *v1.Node, s *state, says readiness, err error) {
	forGood := isForGood(err)
	if !forGood {
		klog.FromContext(ctx).Error(err, "Cannot write the condition of the Node; it is tried again", "node", klog.KObj(n))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ready.written, s.ready.since = says, time.Now()
	s.ready.ended(forGood)
}

// writeCondition patches nothing but the condition, on no other Node of that name. Conditions are
// merged by their type, so that those of others stay.
func (c *Controller) writeCondition(ctx context.Context, n *v1.Node, says readiness) error {
	to := report.Ready(n, says.status, says.reason, says.message)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": n.UID},
		"status":   map[string]any{"conditions": []v1.NodeCondition{to}},
	})
	if err != nil {
		return fmt.Errorf("encoding the condition: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = c.client.CoreV1().Nodes().Patch(ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
