package nodes

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
)

// TestProgress: a Node is pending until it is decided about, while it is being written, and while
// its vCenter has to prove that it answers.
func TestProgress(t *testing.T) {
	n := named("n", zoned("r", "a")...)
	n.Spec.ProviderID = "vsphere://422e4956-22ad-3911-6d72-59cc8f26bc90" // or it could be somebody else's
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		idle := New(w.source, w.source, nil, w.client)
		if _, begun := idle.Progress(); begun {
			t.Error("it has begun before Run")
		}
		pending := func(want bool, when string) {
			t.Helper()
			p, begun := w.controller.Progress()
			if !begun || len(p.Nodes) != 1 || p.Nodes[0].Node.Name != "n" || p.Nodes[0].Pending != want {
				t.Errorf("%s: %+v, %v, not %v", when, p, begun, want)
			}
		}
		w.source.place(at("r", "a", ""), nil, "n")
		w.pass(10 * time.Second)
		pending(false, "at rest")
		answer := make(chan struct{})
		w.refusing(func(string) error { <-answer; return nil })
		unlabel := func() { w.edit("n", func(n *v1.Node) { delete(n.Labels, topology.LabelZone) }) }
		unlabel()
		w.pass(5 * time.Second)
		pending(true, "a write is under way")
		close(answer)
		w.pass(5 * time.Second)
		pending(false, "it is written")
		w.source.hang("n", true)
		unlabel()
		w.pass(10 * time.Second)
		pending(true, "the vCenter does not answer")
		w.source.hang("n", false)
		w.source.Probe("n")
		w.pass(10 * time.Second)
		pending(false, "it answers again")
	}, n)
}
