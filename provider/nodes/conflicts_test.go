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

// TestTwoRegions: a zone in two regions has one Event on each Node. An outage of one vCenter neither ends the conflict
// nor changes its text.
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

// TestAConflictIsFoundOnceItsNodesAreDecided: the Nodes of a large cluster are decided some time after a change, and a
// search for conflicts may happen before.
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
		w.source.place(at("s", "b", ""), nil, "west-1") // so that the next pass is delayed
		time.Sleep(time.Millisecond)
		w.source.place(at("s", "a", ""), nil, "west-1")
		w.pass(10 * time.Second)
		if s := w.stats(); s.Conflicts[topology.ConflictTwoRegions] != n+1 {
			t.Errorf("%+v", s)
		}
	}, nodes...)
}

// TestALabelIsUnknownForAWhile: while a label of a Node is unknown, its conflicts remain, and a mixture of its old and
// new placement is no conflict.
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
		w.source.configure(topologyOf(config.DriftReport)) // the same configuration again
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

// TestNotSeenByCSIIsCounted: it has no Event, because the configuration causes it.
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

// messages returns the messages of the Events with a reason in order.
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

// TestUnread: an object above many Nodes has one Event on the daemon's Pod and none on Nodes. The next Event names only
// new objects. An outage of the vCenter repeats no Event; an object that returns, or an hour, does.
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
		if text := recorded(1); !strings.HasPrefix(text, `Warning TagPermissionMissing vCenter "east"`) || !strings.Contains(text, "host /dc1/host/c1/h1.") {
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
		w.pass(time.Hour) // API servers drop Events after an hour
		if text := recorded(4); !strings.Contains(text, "cluster /dc1/host/c, host /dc1/host/c1/h1.") {
			t.Errorf("recorded %s", text)
		}
		w.wantEvents()
	}, nodes...)
}

// TestCategoryNotFound: a category that no vCenter has is reported once on the daemon's Pod, again after an hour, and on no
// Node.
func TestCategoryNotFound(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		placed := at("r", "a", "")
		placed.Conflicts = []topology.Conflict{{Kind: topology.ConflictNoCategory, Labels: []string{rack}}}
		w.source.place(placed, nil, "east-1", "east-2")
		w.pass(2 * conflictsEvery)
		w.source.lose("east-1")
		w.pass(2 * conflictsEvery)
		w.source.place(placed, nil, "east-1")
		w.pass(2 * conflictsEvery)
		w.mu.Lock()
		if want := []string{"Warning CategoryNotFound no_category"}; !slices.Equal(w.pod, want) {
			t.Errorf("Events on the Pod %q, want %q", w.pod, want)
		}
		w.mu.Unlock()
		w.pass(time.Hour)
		w.mu.Lock()
		if len(w.pod) != 2 {
			t.Errorf("%d Events on the Pod after an hour, want 2: %q", len(w.pod), w.pod)
		}
		w.mu.Unlock()
		w.wantEvents()
	}, named("east-1", zoned("r", "a")...), named("east-2", zoned("r", "a")...))
}

// TestTwoTagsHaveOneEvent: the Event about the placement, and none about the conflict that makes it fail.
func TestTwoTagsHaveOneEvent(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		placed := at("r", "", "")
		placed.Conflicts = []topology.Conflict{{Kind: topology.ConflictTwoTags, Labels: []string{topology.LabelZone}}}
		w.source.place(placed, topology.Errorf(topology.ErrAmbiguous, "two tags"), "east-1")
		w.pass(time.Minute)
		w.wantEvents("east-1 Ambiguous")
	}, named("east-1", zoned("r", "a")...))
}

// TestACategoryOfOneVCenter: the daemon's Pod has no Event about a category that only the Node's vCenter lacks, so the
// Node has it.
func TestACategoryOfOneVCenter(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		hidden := topology.Errorf(topology.Kinds{topology.ErrUnknown, topology.ErrNoCategory}, "vCenter east has no tag category k8s-zone")
		w.source.place(at("r", "", ""), hidden, "east-1")
		w.pass(time.Minute)
		w.wantEvents("east-1 CategoryNotFound")
	}, named("east-1", zoned("r", "a")...))
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

// TestConflictBesideAnUndecidedLevel: an undecided level affects neither the end of a zone conflict nor the next conflict.
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
		if n := len(w.events()); n != 4 { // two conflicts and their ends
			t.Errorf("%d: %q", n, events)
		}
		// While the zone is unknown, no conflict ends.
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

// fleetOf returns n Nodes of the vCenter east.
func fleetOf(count int, labels ...string) (nodes []*v1.Node, names []string) {
	for i := range count {
		names = append(names, fmt.Sprint("east-", i))
		nodes = append(nodes, named(names[i], labels...))
	}
	return nodes, names
}

// densest returns the greatest number of times within a second.
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

// TestEventsArePaced: all Events are recorded, at most 20 per second.
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

// TestNoWriteWithoutAnAnswer: a vCenter that hangs between a snapshot and the write delays no other vCenter's Nodes, and
// is probed only once.
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
		w.source.Probe("east") // the vCenter answers the first probe
		w.settle()
		w.wantLabels("east-1", zoned("r", "b")...)
	}, named("east-1", zoned("r", "a")...), named("west-1", zoned("r", "a")...))
}

// TestConflictsAreRecordedOnce: a conflict has a second Event only after it has certainly ended.
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
		if n := len(w.events()); n != 5 { // including the ends
			t.Errorf("Events %q", w.events())
		}
	}, named("east-1", zoned("r", "a")...))
}
