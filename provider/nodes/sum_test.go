package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
)

// logging starts the controller of a world with a log, and returns the lines of a message in it.
func (w *world) logging(cfg config.Topology) (lines func(message string) []string) {
	w.stop()
	log := ktesting.NewLogger(w, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
	w.log = log
	w.start(cfg)
	return func(message string) (found []string) {
		for line := range strings.Lines(log.GetSink().(ktesting.Underlier).GetBuffer().String()) {
			if strings.Contains(line, message) {
				found = append(found, strings.TrimSpace(line))
			}
		}
		return found
	}
}

// TestSum: the Nodes are counted once a minute at most, and what has not changed is not logged.
func TestSum(t *testing.T) {
	nodes := []*v1.Node{named("east-1", zoned("r", "a")...), named("east-2", zoned("r", "b")...), named("west-1", zoned("r", "b")...)}
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		lines := w.logging(topologyOf(config.DriftReport))
		for _, n := range nodes {
			w.source.place(at("r", n.Labels["topology.kubernetes.io/zone"], ""), nil, n.Name)
		}
		w.pass(time.Hour)
		if got := lines("Nodes by placement"); len(got) != 1 || !strings.HasSuffix(got[0], ` placed=3 unplaced=0 waiting=0 drifting=0`) {
			t.Errorf("at rest: %q", got)
		}
		w.source.lose("east-1")
		w.pass(2 * time.Minute)
		if got := lines("Nodes by placement"); len(got) != 2 || !strings.Contains(got[1], " placed=2 unplaced=1 waiting=0") {
			t.Errorf("without one machine: %q", got)
		}
		w.source.place(at("r", "a", ""), nil, "east-1")
		for i := range 60 { // a zone that changes every 70 seconds
			w.source.place(at("r", string(rune('b'+i/7%2)), ""), nil, "west-1")
			w.pass(10 * time.Second)
		}
		if got := lines("Nodes by placement"); len(got) > 13 || len(got) < 4 || !strings.Contains(strings.Join(got, " "), "placed=3 unplaced=0 waiting=0 drifting=1") {
			t.Errorf("while one flaps: %q", got)
		}
	}, nodes...)
}

// TestLinesNameTheVCenter: those about a Node whose machine was found.
func TestLinesNameTheVCenter(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		lines := w.logging(topologyOf(config.DriftReport))
		w.refusing(func(string) error { return fmt.Errorf("the API server is busy") })
		w.source.place(at("r", "b", "r1"), nil, "east-1")
		w.pass(5 * time.Minute)
		w.refusing(nil)
		w.pass(5 * time.Minute)
		for _, message := range []string{
			"Node needs attention", "Cannot write to the Node; it is tried again", "Wrote topology of Node",
		} {
			got := lines(message)
			if len(got) == 0 {
				t.Errorf("no line %q", message)
			}
			for _, line := range got {
				if !strings.Contains(line, `vCenter="east"`) || !strings.Contains(line, `node="east-1"`) {
					t.Errorf("%s", line)
				}
			}
		}
	}, named("east-1", zoned("r", "a")...))
}
