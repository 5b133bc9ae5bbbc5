package nodes

import (
	"testing"

	"vzones/config"
)

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
