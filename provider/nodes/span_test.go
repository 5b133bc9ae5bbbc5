package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
)

// TestTwoRegions: a zone of two regions is reported on the Nodes of both, once.
// Trouble of one of their vCenters does not end it, nor does it change what is said.
func TestTwoRegions(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		place := func() {
			w.source.place(at("r", "a", ""), nil, "east-1")
			w.source.place(at("s", "a", ""), nil, "west-1")
			w.source.place(at("t", "a", ""), nil, "south-1")
			w.source.place(at("r", "b", ""), nil, "east-2")
		}
		place()
		for range 5 {
			w.pass(10 * time.Second)
			w.source.lose("east-1")
			w.pass(10 * time.Second)
			place()
		}
		w.pass(10 * time.Second)
		if n := len(w.events()); n != 3 {
			t.Errorf("Events %q", w.events())
		}
		if s := w.stats(); s.Conflicts[topology.ConflictTwoRegions] != 3 {
			t.Errorf("%+v", s)
		}
		w.source.place(at("s", "c", ""), nil, "west-1")
		w.source.place(at("t", "d", ""), nil, "south-1")
		w.pass(10 * time.Second)
		if s := w.stats(); s.Conflicts[topology.ConflictTwoRegions] != 0 {
			t.Errorf("%+v", s)
		}
	}, named("east-1", zoned("r", "a")...), named("west-1", zoned("s", "a")...), named("south-1", zoned("t", "a")...), named("east-2", zoned("r", "b")...))
}

// TestAConflictIsFoundOnceItsNodesAreDecided: the Nodes of a large cluster are decided about some time
// after a change, and a search for conflicts may be due just before.
func TestAConflictIsFoundOnceItsNodesAreDecided(t *testing.T) {
	const n = 1000
	nodes := []*v1.Node{named("west-1", zoned("s", "b")...)}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("east-", i))
		nodes = append(nodes, named(names[i], zoned("r", "a")...))
	}
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "a", ""), nil, names...)
		w.source.place(at("s", "b", ""), nil, "west-1")
		w.pass(time.Minute)
		w.source.place(at("s", "b", ""), nil, "west-1")
		w.pass(conflictsEvery - 10*time.Millisecond)
		w.source.place(at("s", "b", ""), nil, "west-1") // so that the next one has to wait
		time.Sleep(time.Millisecond)
		w.source.place(at("s", "a", ""), nil, "west-1")
		w.pass(10 * time.Second)
		if s := w.stats(); s.Conflicts[topology.ConflictTwoRegions] != n+1 {
			t.Errorf("%+v", s)
		}
	}, nodes...)
}

// TestALabelIsUnknownForAWhile: while a label of one Node cannot be read, its conflicts with others go on,
// and nothing is a conflict that is a mixture of its former place and the new one.
func TestALabelIsUnknownForAWhile(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.source.place(at("s", "a", ""), nil, "west-1")
		w.pass(10 * time.Second)
		w.source.place(at("?", "a", ""), nil, "east-1")
		w.pass(time.Minute)
		if s := w.stats(); s.Conflicts[topology.ConflictTwoRegions] != 2 {
			t.Errorf("%+v", s)
		}
		w.source.configure(topologyOf(config.DriftReport)) // the same once more
		w.pass(time.Minute)
		if s := w.stats(); s.Conflicts[topology.ConflictTwoRegions] != 2 {
			t.Errorf("with the configuration read again: %+v", s)
		}
		if slices.Contains(w.events(), "west-1 ProblemResolved") {
			t.Errorf("Events %q", w.events())
		}
	}, named("east-1", zoned("r", "a")...), named("west-1", zoned("s", "a")...))
	nested := topologyOf(config.DriftReport)
	nested.Policy.Levels[0].Nested = true
	inWorld(t, nested, func(w *world) {
		w.source.place(at("r", "a", "r1"), nil, "east-1", "west-1")
		w.pass(10 * time.Second)
		w.source.place(at("r", "b", "?"), nil, "east-1")
		w.pass(time.Minute)
		if s := w.stats(); s.Conflicts[topology.ConflictNotNested] != 0 {
			t.Errorf("%+v", s)
		}
	}, named("east-1", zoned("r", "a")...), named("west-1", zoned("r", "a")...))
}

// TestNotSeenByCSIIsToldOnce: on the daemon's Pod, whatever Nodes there are.
func TestNotSeenByCSIIsToldOnce(t *testing.T) {
	cfg := topologyOf(config.DriftReport)
	cfg.Policy.Rules[1].Value = topology.Template{{Label: topology.LabelRegion}, {Text: "-"}, {Own: true}}
	inWorld(t, cfg, func(w *world) {
		p := at("r", "r-a", "")
		p.Conflicts = cfg.Policy.NotCSI()
		for range 3 {
			w.source.place(p, nil, "east-1", "east-2")
			w.pass(10 * time.Second)
		}
		if got := fmt.Sprint(w.pod); strings.Count(got, "is composed as") != 1 || len(w.events()) != 0 {
			t.Errorf("got %s, Events %q", got, w.events())
		}
		if s := w.stats(); s.Conflicts[topology.ConflictNotCSI] != 2 {
			t.Errorf("%+v", s)
		}
	}, named("east-1", zoned("r", "r-a")...), named("east-2", zoned("r", "r-a")...))
}
