package nodes

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
)

// fleetOf are Nodes of the vCenter east.
func fleetOf(count int, labels ...string) (nodes []*v1.Node, names []string) {
	for i := range count {
		names = append(names, fmt.Sprint("east-", i))
		nodes = append(nodes, named(names[i], labels...))
	}
	return nodes, names
}

// densest is the greatest number of times within a second.
func densest(at []time.Time) int {
	most := 0
	for i, from := range at {
		n := 0
		for _, t := range at[i:] {
			if t.Sub(from) < time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestEventsArePaced: none is lost, and there are 20 a second.
func TestEventsArePaced(t *testing.T) {
	nodes, names := fleetOf(500, zoned("r", "a")...)
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		p := at("r", "a", "")
		p.Conflicts = []topology.Conflict{{Kind: topology.ConflictPrecedence}}
		w.source.place(p, nil, names...)
		w.pass(10 * time.Second)
		if n := len(w.events()); n < 150 || n > 250 {
			t.Errorf("%d Events in 10 s", n)
		}
		w.pass(time.Minute)
		if n := len(w.events()); n != 500 {
			t.Errorf("%d Events of 500 Nodes", n)
		}
		if s := w.stats(); s.Conflicts[topology.ConflictPrecedence] != 500 {
			t.Errorf("%+v", s)
		}
	}, nodes...)
}

// TestNoWriteWithoutAnAnswer: a vCenter that hangs between what it said and the
// write. It holds up no other vCenter's Nodes, and is not asked over and over.
func TestNoWriteWithoutAnAnswer(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1", "west-1")
		w.source.hang("east", true)
		w.pass(10 * time.Minute)
		w.wantLabels("east-1", zoned("r", "a")...)
		w.wantLabels("west-1", zoned("r", "b")...)
		if n := w.source.probes["east"]; n < 1 || n > 3 {
			t.Errorf("%d probes", n)
		}
		w.source.hang("east", false)
		w.source.Probe("east") // it has answered what it was asked
		w.settle()
		w.wantLabels("east-1", zoned("r", "b")...)
	}, named("east-1", zoned("r", "a")...), named("west-1", zoned("r", "a")...))
}

// TestConflictsAreRecordedOnce: each, however often it is found; again only after it was
// over for certain.
func TestConflictsAreRecordedOnce(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		p := at("r", "a", "")
		p.Conflicts = []topology.Conflict{{Kind: topology.ConflictPrecedence}, {Kind: topology.ConflictTwoTags}}
		for range 5 {
			w.source.place(p, nil, "east-1")
			w.pass(time.Second)
			w.source.place(topology.Placement{}, errUnreadable, "east-1")
			w.pass(time.Second)
			w.source.lose("east-1")
			w.pass(time.Second)
		}
		if n := len(w.events()); n != 2 {
			t.Errorf("Events %q", w.events())
		}
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(time.Second)
		if s := w.stats(); s.Conflicts[topology.ConflictTwoTags] != 0 {
			t.Errorf("%+v", s)
		}
		w.source.place(p, nil, "east-1")
		w.pass(time.Second)
		if n := len(w.events()); n != 5 { // with their end
			t.Errorf("Events %q", w.events())
		}
	}, named("east-1", zoned("r", "a")...))
}
