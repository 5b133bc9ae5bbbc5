package nodes

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
)

// TestALevelThatLeavesAsANodeArrives: its label came with the Node, and nothing has
// reported that yet.
func TestALevelThatLeavesAsANodeArrives(t *testing.T) {
	waits := named("east-1")
	waits.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	for name, c := range map[string]struct {
		after time.Duration
		stays bool
	}{
		"at once": {0, false}, "a while later": {time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, topologyOf(config.DriftReport), func(w *world) {
				w.settle()
				cfg := topologyOf(config.DriftReport)
				cfg.Policy.Levels = nil
				w.source.configure(cfg)
				w.pass(c.after)
				w.source.place(at("r", "a", ""), nil, "east-1")
				n := w.node("east-1").DeepCopy()
				n.Spec.Taints = nil
				n.Labels = map[string]string{rack: "r1"}
				for _, label := range zoned("r", "a") {
					key, value, _ := strings.Cut(label, "=")
					n.Labels[key] = value
				}
				if _, err := w.client.CoreV1().Nodes().Update(w.ctx, n, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				w.settle()
				if _, there := w.node("east-1").Labels[rack]; there != c.stays {
					t.Errorf("the label is there: %v", there)
				}
			}, waits.DeepCopy())
		})
	}
}

// TestTheConfigurationChanges while nothing else does: all Nodes follow.
func TestTheConfigurationChanges(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "a", "r1"), nil, "east-1", "east-2")
		w.settle()
		w.wantLabels("east-2", append(zoned("r", "a"), rack+"=r1")...)
		cfg := topologyOf(config.DriftReport)
		cfg.Policy.Levels = nil
		w.source.configure(cfg)
		w.settle()
		w.wantLabels("east-1", zoned("r", "a")...)
		w.wantLabels("east-2", zoned("r", "a")...)

		// Drift that was only reported is what the new policy says.
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle)
		w.wantLabels("east-1", zoned("r", "a")...)
		cfg.Drift = config.DriftUpdate
		w.source.configure(cfg)
		w.settle()
		w.wantLabels("east-1", zoned("r", "b")...)
	}, named("east-1"), named("east-2"))
}
