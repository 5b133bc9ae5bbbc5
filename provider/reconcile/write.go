package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/keys"
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{ActionBackfill, ActionUpdate, ActionRemove, ActionTaint, ActionUntaint}
}

// write writes a plan for a Node as it was decided about: the resource version
// makes the write fail if somebody else has written since.
func (c *Controller) write(ctx context.Context, n *v1.Node, todo *plan) error {
	patch, err := json.Marshal(todo.patch(n))
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err := c.client.CoreV1().Nodes().Patch(limited, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	c.count(n, todo)
	c.tellWritten(ctx, n, todo)
	return nil
}

// patch is a JSON merge patch, in which null removes a key.
func (p *plan) patch(n *v1.Node) map[string]any {
	meta := map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion}
	labels := map[string]any{}
	for key, value := range p.set {
		labels[key] = value
	}
	for _, key := range p.remove {
		labels[key] = nil
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if p.annotate {
		var value any
		if len(p.owned) > 0 {
			value = strings.Join(p.owned, ",")
		}
		meta["annotations"] = map[string]any{keys.Labels: value}
	}
	patch := map[string]any{"metadata": meta}
	if p.retaint {
		taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool { return t.Key == keys.DriftTaint })
		if p.taint {
			taints = append(taints, v1.Taint{Key: keys.DriftTaint, Effect: v1.TaintEffectNoSchedule})
		}
		patch["spec"] = map[string]any{"taints": taints}
	}
	return patch
}

func (c *Controller) count(n *v1.Node, todo *plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if todo.annotate {
		delete(c.claims, n.UID)
	}
	for _, ch := range todo.changes {
		c.writes[ch.action]++
	}
	switch {
	case todo.retaint && todo.taint:
		c.writes[ActionTaint]++
	case todo.retaint:
		c.writes[ActionUntaint]++
	}
}
