package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/test/placed"
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

// TestNotSeenByCSIIsCounted, and is no Event: it is the configuration's.
func TestNotSeenByCSIIsCounted(t *testing.T) {
	cfg := topologyOf(config.DriftReport)
	cfg.Policy.Rules[1].Value = topology.Template{{Label: topology.LabelRegion}, {Text: "-"}, {Own: true}}
	inWorld(t, cfg, func(w *world) {
		p := at("r", "r-a", "")
		p.Conflicts = cfg.Policy.NotCSI()
		w.source.place(p, nil, "east-1", "east-2")
		w.pass(10 * time.Second)
		if len(w.pod) != 0 || len(w.events()) != 0 {
			t.Errorf("got %q, Events %q", w.pod, w.events())
		}
		if s := w.stats(); s.Conflicts[topology.ConflictNotCSI] != 2 {
			t.Errorf("%+v", s)
		}
	}, named("east-1", zoned("r", "r-a")...), named("east-2", zoned("r", "r-a")...))
}

// messages are those of the Events of a reason, in their order.
func (w *world) messages(reason string) []string {
	var out []string
	list, err := w.client.CoreV1().Events("").List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == reason {
			out = append(out, e.Message)
		}
	}
	return out
}

// TestUnread: an object above many Nodes is one Event on the daemon's Pod
// and none on the Nodes, a further one names what is new, and an outage of the vCenter
// is not a reason to record again. What comes back, or lasts an hour, is recorded again.
func TestUnread(t *testing.T) {
	var nodes []*v1.Node
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint("east-", i))
		nodes = append(nodes, named(names[i], append(zoned("r", "a"), rack+"=r1")...))
	}
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		recorded := func(want int) string {
			t.Helper()
			w.pass(2 * conflictsEvery)
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.pod) != want {
				t.Fatalf("%d Events on the Pod, want %d: %q", len(w.pod), want, w.pod)
			}
			return w.pod[len(w.pod)-1]
		}
		there := at("r!", "a!", "r1!")
		w.source.place(there, nil, names...)
		if text := recorded(1); !strings.HasPrefix(text, `Warning TagsUnreadable vCenter "east"`) || !strings.Contains(text, "host /dc1/host/c1/h1.") {
			t.Errorf("recorded %s", text)
		}
		if s := w.stats(); s.Conflicts[topology.ConflictUnread] != 30 {
			t.Errorf("%+v", s)
		}
		w.source.lose(names...)
		recorded(1)
		cluster := &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ClusterComputeResource", ID: "c"}, Path: "/dc1/host/c"}
		there.Conflicts[0].Objects = []*topology.Object{placed.Host, cluster}
		w.source.place(there, nil, names...)
		if text := recorded(2); strings.Contains(text, "h1") || !strings.Contains(text, "cluster /dc1/host/c.") {
			t.Errorf("recorded %s", text)
		}
		w.source.place(at("r", "a", "r1"), nil, names...)
		recorded(2)
		if s := w.stats(); s.Conflicts[topology.ConflictUnread] != 0 {
			t.Errorf("%+v", s)
		}
		w.source.place(there, nil, names...)
		recorded(3)
		w.pass(time.Hour) // API servers forget an Event after it
		if text := recorded(4); !strings.Contains(text, "cluster /dc1/host/c, host /dc1/host/c1/h1.") {
			t.Errorf("recorded %s", text)
		}
		w.wantEvents()
	}, nodes...)
}

func TestUnreadText(t *testing.T) {
	var objects []*topology.Object
	for i := range 300 {
		path := fmt.Sprintf("/a datacenter with a long name/host/a cluster with a long name/esx-%03d.example.com", i)
		objects = append(objects, &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "HostSystem", ID: path}, Path: path})
	}
	text := unreadText("east", objects)
	if len(text) > 1024 || !strings.Contains(text, " and 292 more") || strings.ContainsAny(text, "\n") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// TestConflictBesideAnUndecidedLevel: a level that is never decided does not keep a
// conflict of the zone from being over, nor the next one from being recorded.
func TestConflictBesideAnUndecidedLevel(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		sound := placed.In(topology.LabelRegion+"=r", topology.LabelZone+"=a", rack+"=?")
		bad := sound
		bad.Conflicts = []topology.Conflict{{Kind: topology.ConflictPrecedence, Labels: []string{topology.LabelZone}}}
		for range 2 {
			w.source.place(bad, nil, "east-1")
			w.pass(time.Minute)
			w.source.place(sound, nil, "east-1")
			w.pass(time.Minute)
		}
		events := slices.DeleteFunc(w.events(), func(e string) bool { return strings.HasPrefix(e, "again ") })
		if n := len(w.events()); n != 4 { // twice, with their ends
			t.Errorf("%d: %q", n, events)
		}
		// While the zone itself is not known, nothing is over.
		w.source.place(placed.In(topology.LabelRegion+"=r", topology.LabelZone+"=?"), nil, "east-1")
		w.source.place(bad, nil, "east-1")
		w.pass(time.Minute)
		recorded := len(w.events())
		w.source.place(placed.In(topology.LabelRegion+"=r", topology.LabelZone+"=?"), nil, "east-1")
		w.pass(time.Minute)
		w.source.place(bad, nil, "east-1")
		w.pass(time.Minute)
		if n := len(w.events()); n != recorded {
			t.Errorf("recorded again: %q", w.events()[recorded:])
		}
	}, named("east-1", zoned("r", "a")...))
}

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
			w.source.place(topology.Placement{}, placed.ErrUnreadable, "east-1")
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
