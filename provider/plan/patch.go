package plan

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/keys"
)

// Patch returns a JSON merge patch, in which null removes a key.
func (p *Plan) Patch(n *v1.Node) map[string]any {
	meta := map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion}
	labels := map[string]any{}
	for key, value := range p.Set {
		labels[key] = value
	}
	for _, key := range p.Remove {
		labels[key] = nil
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if p.Annotate {
		var value any
		if len(p.Owned) > 0 {
			value = strings.Join(p.Owned, ",")
		}
		meta["annotations"] = map[string]any{keys.Labels: value}
	}
	patch := map[string]any{"metadata": meta}
	if p.Retaint {
		taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool { return t.Key == keys.DriftTaint })
		if p.Taint {
			taints = append(taints, v1.Taint{Key: keys.DriftTaint, Effect: v1.TaintEffectNoSchedule})
		}
		patch["spec"] = map[string]any{"taints": taints}
	}
	return patch
}
