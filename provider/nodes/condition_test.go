package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/test/placed"
	"vzones/topology"
)

// ours returns a ready Node with a provider ID.
func ours(n *v1.Node) *v1.Node {
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	n.Spec.ProviderID = fmt.Sprintf("vsphere://422e4956-ad22-1139-6d72-%012x", len(n.Name)*1000+int(n.Name[len(n.Name)-1]))
	return n
}

// wantReady compares the condition of a Node with "status/reason", or "" for none.
func (w *world) wantReady(name, want string) v1.NodeCondition {
	w.Helper()
	c := report.ConditionOf(w.node(name))
	if got := strings.Trim(string(c.Status)+"/"+c.Reason, "/"); got != want {
		w.Errorf("the condition of %s is %q, want %q: %s", name, got, want, c.Message)
	}
	if strings.Contains(c.Message, "\n") || c.Status != "" && (c.Message == "" || c.LastTransitionTime.IsZero() || c.LastHeartbeatTime.IsZero()) {
		w.Errorf("the condition of %s: %+v", name, c)
	}
	return c
}

// conditions returns the number of patches of conditions, including failed ones.
func (w *world) conditions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.readyAt)
}

// counted returns the counts of the Events with a reason in the API server.
func (w *world) counted(reason string) (counts []int) {
	w.Helper()
	list, err := w.client.CoreV1().Events("").List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == reason {
			counts = append(counts, int(e.Count))
		}
	}
	slices.Sort(counts)
	return counts
}

func (w *world) wantCounted(reason string, want ...int) {
	w.Helper()
	if got := w.counted(reason); !slices.Equal(got, want) {
		w.Errorf("Events %s were counted %v, want %v", reason, got, want)
	}
}

// TestEventsRepeat: the Event of a lasting problem is repeated before API servers drop it. A new text is a new Event.
func TestEventsRepeat(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle + 50*time.Minute - time.Second)
		w.wantCounted(plan.ReasonDrift, 1)
		w.wantCounted("VCenterDataUnavailable", 1) // the Event of the lost Node
		w.pass(6*time.Minute + time.Second)
		w.wantCounted(plan.ReasonDrift, 2)
		w.wantCounted("VCenterDataUnavailable", 2)
		w.pass(3 * time.Hour)
		w.wantCounted(plan.ReasonDrift, 5)
		w.wantCounted("VCenterDataUnavailable", 5)

		w.source.place(at("r", "c", ""), nil, "east-1")
		w.source.place(at("r", "a", ""), nil, "east-2")
		w.pass(settle + time.Second) // two Events of a Node in the same instant would have the same name
		w.wantCounted(plan.ReasonDrift, 1, 5)
		w.wantCounted("ProblemResolved", 1)
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(time.Second)
		w.wantCounted("ProblemResolved", 1, 1)
		if got := w.messages("ProblemResolved"); !slices.Contains(got, `vCenter "east": TopologyDrift is resolved`) || !slices.Contains(got, `vCenter "east": VCenterDataUnavailable is resolved`) {
			t.Errorf("Events %q", got)
		}
		before := len(w.events())
		w.pass(3 * time.Hour)
		if n := len(w.events()); n != before {
			t.Errorf("Events after the end: %q", w.events()[before:])
		}
	}, named("east-1", zoned("r", "a")...), ours(named("east-2", zoned("r", "a")...)))
}

// TestDriftFromTheKubelet: the Event names the kubelet's flag if the kubelet wrote the label, and only then.
func TestDriftFromTheKubelet(t *testing.T) {
	writtenBy := func(name, manager string) *v1.Node {
		n := named(name, zoned("r", "b")...)
		n.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Subresource: "status", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + v1.LabelFailureDomainBetaZone + `":{},"f:` + v1.LabelTopologyZone + `":{}}}}`),
		}}
		return n
	}
	for manager, want := range map[string]bool{"kubelet": true, "kubectl-label": false} {
		inWorld(t, topologyOf(config.DriftReport), func(w *world) {
			w.source.place(at("r", "a", ""), nil, "east-1")
			w.pass(settle + time.Second)
			got := w.messages(plan.ReasonDrift)
			if len(got) != 1 || strings.Contains(got[0], "--node-labels") != want {
				w.Errorf("the labels were written by %s: Events %q, want one, which names --node-labels: %v", manager, got, want)
			}
		}, writtenBy("east-1", manager))
	}
}

// TestNoEventsOfGoneNodes: a deleted Node gets neither repeated Events nor the end of a problem.
func TestNoEventsOfGoneNodes(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle + time.Second)
		w.wantEvents("east-2 VCenterDataUnavailable", "east-1 TopologyDrift")
		for _, name := range []string{"east-1", "east-2"} {
			if err := w.client.CoreV1().Nodes().Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.pass(time.Second)
		w.source.place(at("r", "a", ""), nil, "east-1", "east-2")
		w.pass(3 * time.Hour)
		w.wantEvents("east-2 VCenterDataUnavailable", "east-1 TopologyDrift")
	}, named("east-1", zoned("r", "a")...), ours(named("east-2", zoned("r", "a")...)))
}

// TestReadyIsWrittenOnChange: the condition is written once per change, independent of heartbeats and restarts. The
// transition time changes only with the status.
func TestReadyIsWrittenOnChange(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		right, drifts := at("r", "a", ""), at("r", "b", "")
		w.source.place(right, nil, "east-1")
		w.source.place(drifts, nil, "east-2")
		w.pass(2 * settle)
		said := w.wantReady("east-1", "True/TopologyCurrent")
		w.wantReady("east-2", "False/TopologyDrift")
		w.wantReady("east-3", "Unknown/VCenterDataUnavailable")
		if got, want := report.ConditionOf(w.node("east-2")).Message, w.messages(plan.ReasonDrift); !slices.Equal([]string{got}, want) {
			t.Errorf("the message is %q, the Event's %q", got, want)
		}
		hours := func() {
			for range 180 {
				w.source.place(right, nil, "east-1")
				w.source.place(drifts, nil, "east-2")
				w.edit("east-1", func(n *v1.Node) { n.Annotations["example.com/heartbeat"] += "x" })
				w.pass(time.Minute)
			}
		}
		hours()
		w.stop()
		w.start(topologyOf(config.DriftReport))
		hours()
		if n := w.conditions(); n != 3 || w.patches() > 0 {
			t.Errorf("%d conditions and %d labels of three Nodes were written", n, w.patches())
		}
		if now := w.wantReady("east-1", "True/TopologyCurrent"); now != said {
			t.Errorf("%+v was %+v", now, said)
		}

		w.source.place(at("r", "c", ""), nil, "east-2")
		since := report.ConditionOf(w.node("east-2")).LastTransitionTime
		w.pass(2 * settle)
		if now := w.wantReady("east-2", "False/TopologyDrift"); w.conditions() != 4 || now.LastTransitionTime != since {
			t.Errorf("%d writes; since %v, was %v", w.conditions(), now.LastTransitionTime, since)
		}
		w.source.place(right, nil, "east-2", "east-3")
		w.pass(time.Minute)
		w.wantReady("east-3", "True/TopologyCurrent")
		if now := w.wantReady("east-2", "True/TopologyCurrent"); w.conditions() != 6 || time.Since(now.LastTransitionTime.Time) > 2*time.Minute {
			t.Errorf("%d writes; since %v", w.conditions(), now.LastTransitionTime)
		}
	}, named("east-1", zoned("r", "a")...), named("east-2", zoned("r", "a")...), ours(named("east-3", zoned("r", "a")...)))
}

// TestReadyComesAfterTheLabels: the condition respects its rate limit and delays no label.
func TestReadyComesAfterTheLabels(t *testing.T) {
	nodes, names := fleetOf(120)
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "a", ""), nil, names...)
		for range 30 {
			w.pass(time.Second)
			for _, name := range names {
				if n := w.node(name); report.ConditionOf(n).Status == v1.ConditionTrue && n.Labels[topology.LabelZone] != "a" {
					t.Fatalf("%s: %v", name, n.Labels)
				}
			}
		}
		for _, name := range names {
			w.wantReady(name, "True/TopologyCurrent")
		}
		if most := densest(w.readyAt); most > patchesPerSecond+1 || w.conditions() != len(names) {
			t.Errorf("%d conditions in a second, %d in all", most, w.conditions())
		}
		if took := w.at[len(w.at)-1].Sub(w.at[0]); took > 15*time.Second || len(w.at) != len(names) {
			t.Errorf("%d labels in %v", len(w.at), took)
		}
	}, nodes...)
}

// TestReadyIsNeverGuessed: it is True only if all facts behind the labels are known and all labels are set.
func TestReadyIsNeverGuessed(t *testing.T) {
	ambiguous := at("r", "a", "")
	ambiguous.Undecided = []topology.Undecided{{Label: rack, Err: fmt.Errorf("%w: two tags", topology.ErrAmbiguous)}}
	for name, c := range map[string]struct {
		placed     topology.Placement
		err        error
		noBackfill bool
		want       string
	}{
		"right":                          {placed: at("r", "a", ""), want: "True/TopologyCurrent"},
		"a level is not known":           {placed: at("r", "a", "?"), want: "Unknown/VCenterDataUnavailable"},
		"a level is ambiguous":           {placed: ambiguous, want: "False/Ambiguous"},
		"another object may decide":      {placed: at("r", "a!", ""), want: "Unknown/VCenterDataUnavailable"},
		"no placement":                   {err: placed.ErrUnreadable, want: "Unknown/VCenterDataUnavailable"},
		"a tag is missing":               {err: fmt.Errorf("%w: zone", topology.ErrMissing), want: "False/TopologyMissing"},
		"a label is missing for good":    {placed: at("r", "a", "r1"), noBackfill: true, want: "False/LabelMissing"},
		"a level is missing and written": {placed: at("r", "a", "r1"), want: "True/TopologyCurrent"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := topologyOf(config.DriftReport)
			cfg.Backfill = !c.noBackfill
			inWorld(t, cfg, func(w *world) {
				w.source.place(c.placed, c.err, "east-1")
				for range 5 { // before the problem has lasted
					w.pass(time.Second)
					if got := report.ConditionOf(w.node("east-1")); got.Status != "" && string(got.Status)+"/"+got.Reason != c.want {
						t.Fatalf("%+v", got)
					}
				}
				w.pass(3 * time.Minute)
				w.wantReady("east-1", c.want)
				if n := w.conditions(); n != 1 {
					t.Errorf("%d writes", n)
				}
			}, named("east-1", zoned("r", "a")...))
		})
	}
}

// TestReadyIsOnOurNodesAlone: Nodes of other providers and Nodes that vSphere may never have had get no condition.
func TestReadyIsOnOurNodesAlone(t *testing.T) {
	foreign := named("east-2")
	foreign.Spec.ProviderID = "aws:///i-0"
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "a", ""), nil, "east-2")
		w.pass(3 * time.Hour)
		if n := w.conditions(); n > 0 {
			t.Errorf("%d conditions", n)
		}
		w.wantReady("east-1", "")
		w.wantReady("east-2", "")
	}, withoutProviderID(named("east-1", zoned("r", "a")...)), foreign)
}

// TestReadyIsRemovedFromAnothersNode: another cloud controller manager initializes a Node after vzones has written the
// condition. The condition is removed once, although the first patch fails, also after a restart.
func TestReadyIsRemovedFromAnothersNode(t *testing.T) {
	stale := named("east-2")
	stale.Spec.ProviderID = "aws:///i-2"
	stale.Status.Conditions = append(stale.Status.Conditions, v1.NodeCondition{Type: nodeinfo.TopologyReady, Status: v1.ConditionFalse, Reason: "VMNotFound"})
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.wantReady("east-2", "")
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(time.Minute)
		w.wantReady("east-1", "False/ProviderIDMissing")
		w.mu.Lock()
		w.rejectReady = errors.New("etcd is slow")
		w.mu.Unlock()
		before := w.conditions()
		patches := w.patches()
		w.edit("east-1", func(n *v1.Node) { n.Spec.ProviderID = "aws:///i-1" })
		w.settle()
		w.mu.Lock()
		w.rejectReady = nil
		w.mu.Unlock()
		w.pass(time.Minute)
		w.wantReady("east-1", "")
		tries := w.conditions() - before
		w.pass(3 * time.Hour)
		if n := w.conditions() - before; n != tries || tries < 2 || tries > 4 {
			t.Errorf("%d writes of the condition, %d of them later, want 2 to 4 at once", n, n-tries)
		}
		if n := w.patches() - patches; n != 0 {
			t.Errorf("%d other writes, want none", n)
		}
	}, withoutProviderID(named("east-1", zoned("r", "a")...)), stale)
}

// TestReadyOfANodeThatMayNotBeOurs: a Node without a provider ID whose VM is unknown keeps an earlier condition.
func TestReadyOfANodeThatMayNotBeOurs(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(time.Minute)
		w.wantReady("east-1", "False/ProviderIDMissing")
		w.source.mu.Lock()
		delete(w.source.places, "east-1")
		w.source.announce()
		w.source.mu.Unlock()
		w.pass(3 * time.Hour)
		w.wantReady("east-1", "Unknown/VCenterDataUnavailable")
		if n := w.conditions(); n != 2 {
			t.Errorf("%d writes", n)
		}
	}, withoutProviderID(named("east-1", zoned("r", "a")...)))
}

// TestReadyIsTriedAgain: a failed patch is retried with backoff, and another client's change is overwritten.
func TestReadyIsTriedAgain(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.mu.Lock()
		w.rejectReady = errors.New("etcd is slow")
		w.mu.Unlock()
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(20 * time.Second)
		if n := w.conditions(); n < 3 || n > 6 {
			t.Errorf("%d tries", n)
		}
		w.mu.Lock()
		w.rejectReady = nil
		w.mu.Unlock()
		w.pass(time.Minute)
		w.wantReady("east-1", "True/TopologyCurrent")
		tries := w.conditions()
		for range 120 { // another client insists
			n := w.node("east-1").DeepCopy()
			i := slices.IndexFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == nodeinfo.TopologyReady })
			n.Status.Conditions[i].Status, n.Status.Conditions[i].Message = v1.ConditionFalse, strings.Repeat("x", 1<<20)
			n.ResourceVersion = later(n)
			if err := w.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
		}
		w.pass(2 * time.Minute)
		w.wantReady("east-1", "True/TopologyCurrent")
		if n := w.conditions() - tries; n > 6 || len(w.node("east-1").Status.Conditions) != 2 || report.ConditionOf(w.node("east-1")).Type != nodeinfo.TopologyReady {
			t.Errorf("%d writes, %+v", n, w.node("east-1").Status.Conditions)
		}
	}, named("east-1", zoned("r", "a")...))
}

// TestReadyIsNotRewordedAllTheTime: the error of an outage changes every minute.
func TestReadyIsNotRewordedAllTheTime(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		for i := range 60 {
			w.source.place(at("r", "a", ""), fmt.Errorf("%w: from port %d", topology.ErrUnknown, i), "east-1")
			w.pass(time.Minute)
		}
		w.wantReady("east-1", "Unknown/VCenterDataUnavailable")
		if n := w.conditions(); n < 2 || n > 13 {
			t.Errorf("%d writes in an hour", n)
		}
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(time.Second)
		w.wantReady("east-1", "True/TopologyCurrent")
	}, named("east-1", zoned("r", "a")...))
}
