package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/plan"
)

// write writes a plan for a Node as it was decided about: the resource version
// makes the write fail if somebody else has written since.
func (c *Controller) write(ctx context.Context, l *labeler, n *v1.Node, s *state, todo *plan.Plan) error {
	patch, err := json.Marshal(todo.Patch(n))
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err := c.client.CoreV1().Nodes().Patch(limited, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	c.count(l, s, todo)
	c.recordWritten(ctx, n, todo)
	return nil
}

// count notes what was written.
func (c *Controller) count(l *labeler, s *state, todo *plan.Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range todo.Changes {
		l.writes[ch.Action]++
	}
	switch {
	case todo.Retaint && todo.Taint:
		l.writes[plan.ActionTaint]++
	case todo.Retaint:
		l.writes[plan.ActionUntaint]++
	}
}
