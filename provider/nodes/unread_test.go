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
	"vzones/topology"
)

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

// TestUnreadIsToldOnce: an object above many Nodes is one Event on the daemon's Pod
// and none on the Nodes, a further one names what is new, and an outage of the vCenter
// is not a reason to record again. What comes back is recorded again.
func TestUnreadIsToldOnce(t *testing.T) {
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
		placed := at("r!", "a!", "r1!")
		w.source.place(placed, nil, names...)
		if text := recorded(1); !strings.HasPrefix(text, `Warning TagsUnreadable vCenter "east"`) || !strings.Contains(text, "host /dc1/host/c1/h1.") {
			t.Errorf("recorded %s", text)
		}
		if s := w.stats(); s.Conflicts[topology.ConflictUnread] != 30 {
			t.Errorf("%+v", s)
		}
		w.source.lose(names...)
		recorded(1)
		cluster := &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ClusterComputeResource", ID: "c"}, Path: "/dc1/host/c"}
		placed.Conflicts[0].Objects = []*topology.Object{aHost, cluster}
		w.source.place(placed, nil, names...)
		if text := recorded(2); strings.Contains(text, "h1") || !strings.Contains(text, "cluster /dc1/host/c.") {
			t.Errorf("recorded %s", text)
		}
		w.source.place(at("r", "a", "r1"), nil, names...)
		recorded(2)
		if s := w.stats(); s.Conflicts[topology.ConflictUnread] != 0 {
			t.Errorf("%+v", s)
		}
		w.source.place(placed, nil, names...)
		recorded(3)
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
		sound := placedIn(topology.LabelRegion+"=r", topology.LabelZone+"=a", rack+"=?")
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
		w.source.place(placedIn(topology.LabelRegion+"=r", topology.LabelZone+"=?"), nil, "east-1")
		w.source.place(bad, nil, "east-1")
		w.pass(time.Minute)
		recorded := len(w.events())
		w.source.place(placedIn(topology.LabelRegion+"=r", topology.LabelZone+"=?"), nil, "east-1")
		w.pass(time.Minute)
		w.source.place(bad, nil, "east-1")
		w.pass(time.Minute)
		if n := len(w.events()); n != recorded {
			t.Errorf("recorded again: %q", w.events()[recorded:])
		}
	}, named("east-1", zoned("r", "a")...))
}
