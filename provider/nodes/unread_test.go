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
	"vzones/provider/plan"
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

// TestUnreadChangesNothing: rights that are taken away later move no running Node to
// a farther zone, whatever the policy; that is recorded. What is missing is added, and
// with the rights the change comes.
func TestUnreadChangesNothing(t *testing.T) {
	for _, drift := range []config.Drift{config.DriftReport, config.DriftTaint, config.DriftUpdate} {
		inWorld(t, topologyOf(drift), func(w *world) {
			w.source.place(at("r!", "far!", "r1!"), nil, "east-1")
			w.pass(45 * time.Minute)
			w.wantLabels("east-1", append(zoned("r", "near"), rack+"=r1")...)
			if plan.IsTainted(w.node("east-1")) {
				t.Errorf("%s: tainted", drift)
			}
			w.wantEvents("east-1 TopologyBackfilled", "east-1 TopologyDrift")
			if got := w.messages(plan.ReasonDrift); len(got) != 1 || !strings.Contains(got[0], "host /dc1/host/c1/h1") ||
				!strings.Contains(got[0], `vCenter "east"`) || !strings.Contains(got[0], "System.Read") || !strings.Contains(got[0], "Read-only") {
				t.Errorf("%s: %q", drift, got)
			}
			w.stop()
			w.start(topologyOf(drift)) // which remembers nothing
			w.pass(time.Hour)
			w.wantLabels("east-1", append(zoned("r", "near"), rack+"=r1")...)

			w.source.place(at("r", "far", "r1"), nil, "east-1")
			w.pass(settle)
			want := "near"
			if drift == config.DriftUpdate {
				want = "far"
			}
			w.wantLabels("east-1", append(zoned("r", want), rack+"=r1")...)
			if plan.IsTainted(w.node("east-1")) != (drift == config.DriftTaint) {
				t.Errorf("%s: taints %v", drift, w.node("east-1").Spec.Taints)
			}
		}, named("east-1", zoned("r", "near")...))
	}
}

// TestUnreadTakesNoTaintOff: a Node whose place is in doubt is not known to be home.
func TestUnreadTakesNoTaintOff(t *testing.T) {
	n := named("east-1", zoned("r", "a")...)
	withTaint(n)
	inWorld(t, topologyOf(config.DriftTaint), func(w *world) {
		w.source.place(at("r!", "a!", ""), nil, "east-1")
		w.pass(45 * time.Minute)
		if !plan.IsTainted(w.node("east-1")) || w.patches() > 0 {
			t.Error("the taint was taken off")
		}
		w.wantEvents("east-1 VCenterUnknown")
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.settle()
		if plan.IsTainted(w.node("east-1")) {
			t.Error("the taint stays")
		}
	}, n)
}

// TestRegionBesideAnUncertainZone: neither of a pair is changed while the other may be
// another.
func TestRegionBesideAnUncertainZone(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("s", "a!", ""), nil, "east-1")
		w.pass(time.Hour)
		w.wantLabels("east-1", zoned("r", "a")...)
	}, named("east-1", zoned("r", "a")...))
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

// TestSystemFoldersAreNoEvent: they are unreadable in most installations.
func TestSystemFoldersAreNoEvent(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		placed := at("r", "b", "")
		placed.SystemUnread = []*topology.Object{{Ref: topology.Ref{VCenter: "east", Type: "Folder", ID: "group-h1"}, Path: "/dc1/host"}}
		w.source.place(placed, nil, "east-1")
		w.pass(time.Hour)
		w.wantLabels("east-1", zoned("r", "b")...)
		w.wantEvents("east-1 TopologyUpdated")
		if s := w.stats(); len(w.pod) > 0 || s.Conflicts[topology.ConflictUnread] != 0 {
			t.Errorf("%q, %+v", w.pod, s)
		}
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
