package nodes

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/test/placed"
	"vzones/topology"
)

// TestBackfill: all missing labels are added in one patch together with the list of our labels.
func TestBackfill(t *testing.T) {
	n := named("east-1", "example.com/team=x")
	n.Spec.Taints = []v1.Taint{{Key: "example.com/dedicated", Effect: v1.TaintEffectNoExecute}}
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.pass(time.Second)
		if w.patches() > 0 || w.source.probed() > 0 {
			t.Error("written or asked before anything is known")
		}
		w.source.place(at("r", "a", "r1"), nil, "east-1")
		w.settle()
		w.wantLabels("east-1", append(zoned("r", "a"), "example.com/team=x", rack+"=r1")...)
		if w.patches() != 1 || w.node("east-1").Annotations[nodeinfo.KeyLabels] != rack || len(w.node("east-1").Spec.Taints) != 1 {
			t.Errorf("%d patches, %+v", w.patches(), w.node("east-1"))
		}
		w.pass(time.Hour)
		w.wantEvents("east-1 TopologyBackfilled")
		if s := w.stats(); s.Writes[plan.ActionBackfill] != 3 || w.patches() != 1 {
			t.Errorf("%+v, %d patches", s, w.patches())
		}
	}, n)
}

// TestPairSettlesWhole: a region that begins to differ later delays the zone.
func TestPairSettlesWhole(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle / 2)
		w.source.place(at("s", "b", ""), nil, "east-1")
		w.pass(settle - time.Millisecond)
		w.wantLabels("east-1", zoned("r", "a")...)
		w.pass(time.Millisecond)
		w.wantLabels("east-1", zoned("s", "b")...)
		if w.patches() != 1 {
			t.Errorf("%d patches", w.patches())
		}
	}, named("east-1", zoned("r", "a")...))
}

// TestConflictIsDecidedAnew: another client's write between the decision and ours is kept and used.
func TestConflictIsDecidedAnew(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		met := false
		w.rejecting(func(name string) error {
			if !met {
				met = true
				n := named(name, rack+"=by-hand")
				n.ResourceVersion = "2"
				n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "example.com/new", Effect: v1.TaintEffectNoSchedule})
				return w.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), n, "")
			}
			return nil
		})
		w.source.place(at("r", "a", "r1"), nil, "east-1")
		w.pass(10 * time.Second)
		w.wantLabels("east-1", append(zoned("r", "a"), rack+"=by-hand")...)
		n := w.node("east-1")
		if w.patches() != 2 || len(n.Spec.Taints) != 1 || n.Annotations[nodeinfo.KeyLabels] != "" {
			t.Errorf("%d patches, %+v", w.patches(), n)
		}
	}, named("east-1"))
}

// TestErrorsAreRetried with backoff, and a failed write has no Event.
func TestErrorsAreRetried(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.rejecting(func(string) error { return errors.New("etcd is slow") })
		w.source.place(at("r", "a", ""), nil, "east-1")
		w.pass(20 * time.Second)
		if n := w.patches(); n < 4 || n > 8 {
			t.Errorf("%d tries", n)
		}
		for i := 2; i < len(w.at); i++ {
			if w.at[i].Sub(w.at[i-1]) <= w.at[i-1].Sub(w.at[i-2]) {
				t.Errorf("tries at %v", w.at)
				break
			}
		}
		w.wantEvents()
		w.rejecting(nil)
		w.pass(time.Minute)
		w.wantLabels("east-1", zoned("r", "a")...)
		w.wantEvents("east-1 TopologyBackfilled")
		if s := w.stats(); s.Writes[plan.ActionBackfill] != 2 {
			t.Errorf("%+v", s)
		}
	}, named("east-1"))
}

// TestReplacedNode: the state of a Node does not affect another Node of its name.
func TestReplacedNode(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle - time.Second)
		if err := w.client.CoreV1().Nodes().Delete(w.ctx, "east-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		again := named("east-1", zoned("r", "a")...)
		again.UID = "another"
		if _, err := w.client.CoreV1().Nodes().Create(w.ctx, again, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(settle - time.Second)
		w.wantLabels("east-1", zoned("r", "a")...)
		w.pass(time.Second)
		w.wantLabels("east-1", zoned("r", "b")...)
	}, named("east-1", zoned("r", "a")...))
}

// TestGoneNodesAreForgotten, including a Node that is deleted during a patch.
func TestGoneNodesAreForgotten(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.rejecting(func(name string) error {
			return w.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("nodes"), "", name)
		})
		w.source.place(at("r", "b", "r1"), nil, "east-1")
		w.pass(time.Hour)
		if s := w.stats(); s.Drifting != 0 || len(w.controller.store.records) > 0 {
			t.Errorf("%+v, %d states", s, len(w.controller.store.records))
		}
		w.wantEvents()
	}, named("east-1", zoned("r", "a")...))
}

func TestUninitializedNodesAreTheFrameworks(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "b", "r1"), nil, "east-1")
		w.pass(time.Hour)
		if s := w.stats(); w.patches() > 0 || s.Drifting > 0 {
			t.Errorf("%d patches, %+v", w.patches(), s)
		}
	}, uninitialized(named("east-1", zoned("r", "a")...)))
}

// TestANodeThatWaitsAgainDoesNotDrift: the framework's taint is added again.
func TestANodeThatWaitsAgainDoesNotDrift(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.settle()
		if s := w.stats(); s.Drifting != 1 {
			t.Fatalf("%+v", s)
		}
		w.edit("east-1", func(n *v1.Node) { uninitialized(n) })
		w.settle()
		if s := w.stats(); s.Drifting != 0 {
			t.Errorf("%+v", s)
		}
	}, named("east-1", zoned("r", "a")...))
}

// TestSteadyState: 500 Nodes, placed or with recorded drift, get heartbeats and answers of the vCenter but no writes.
func TestSteadyState(t *testing.T) {
	var nodes []*v1.Node
	var names []string
	for i := range 500 {
		labels := append(zoned("r", "a"), rack+"=r1", "example.com/row=1", "example.com/hall=2")
		if i%5 == 0 {
			labels = append(zoned("r", "b"), rack+"=r1", "example.com/row=1", "example.com/hall=2")
		}
		names = append(names, fmt.Sprint("east-", i))
		nodes = append(nodes, named(names[i], labels...))
	}
	cfg := topologyOf(config.DriftReport)
	for _, l := range []string{"example.com/row", "example.com/hall"} {
		cfg.Policy.Levels = append(cfg.Policy.Levels, topology.Rule{Label: l, Category: l})
	}
	here := placed.In(topology.LabelRegion+"=r", topology.LabelZone+"=a", rack+"=r1", "example.com/row=1", "example.com/hall=2")
	inWorld(t, cfg, func(w *world) {
		w.source.place(here, nil, names...)
		w.pass(10 * time.Minute)
		recorded := len(w.events())
		if recorded != 100 {
			t.Errorf("%d Events of 100 drifted Nodes", recorded)
		}
		w.client.ClearActions()
		for range 10 {
			w.source.place(here, nil, names...)
			w.edit("east-7", func(n *v1.Node) { n.Annotations["example.com/heartbeat"] += "x" })
			w.pass(time.Minute)
		}
		if w.patches() > 0 || w.source.probed() > 0 || len(w.events()) > 0 {
			t.Errorf("%d patches, %d probes, Events %q", w.patches(), w.source.probed(), w.events())
		}
		if s := w.stats(); s.Drifting != 100 {
			t.Errorf("%+v", s)
		}
	}, nodes...)
}

// TestTaintThatStaysIsRecorded: while the zone is unknown, the taint stays, and an Event explains it.
func TestTaintThatStaysIsRecorded(t *testing.T) {
	n := named("east-1", zoned("r", "a")...)
	placed.Taint(n)
	inWorld(t, topologyOf(config.DriftTaint), func(w *world) {
		w.source.place(placed.In(topology.LabelRegion+"=r", topology.LabelZone+"=?"), nil, "east-1")
		w.pass(time.Minute)
		if !plan.IsTainted(w.node("east-1")) || w.patches() > 0 {
			t.Error("the taint was taken off")
		}
		w.wantEvents("east-1 VCenterDataUnavailable")
	}, n)
}

// hide makes a vCenter not show a category.
func (f *fakeSource) hide(category string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.absent = []string{category}
}

// show makes the vCenters show all categories, and changes the error in a Node's placement without a change of its VM.
func (f *fakeSource) show(placed topology.Placement, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.places[node]
	p.Placement = placed
	f.places[node], f.absent = p, nil
	f.announce()
}

// TestCategoryIsMadeInAnotherVCenter: once a vCenter shows a category, it is no longer reported as missing for the Nodes
// of all vCenters.
func TestCategoryIsMadeInAnotherVCenter(t *testing.T) {
	cfg := topologyOf(config.DriftReport)
	category := cfg.Policy.Categories()[0]
	without := at("r", "a", "")
	without.Conflicts = cfg.Policy.NoCategory([]string{category})
	if len(without.Conflicts) == 0 {
		t.Fatal("no conflict")
	}
	inWorld(t, cfg, func(w *world) {
		counted := func(want int) {
			t.Helper()
			if n := w.stats().Conflicts[topology.ConflictNoCategory]; n != want {
				t.Errorf("%d Nodes lack a category, want %d", n, want)
			}
		}
		w.source.hide(category)
		w.source.place(without, nil, "west-1")
		w.settle()
		counted(1)
		w.pass(time.Hour)
		counted(1)
		w.source.show(at("r", "a", ""), "west-1")
		w.settle()
		counted(0)
	}, named("west-1", zoned("r", "a")...))
}

// AskHome does nothing.
func (f *fakeSource) AskHome(string, string) {}

// ReadTags leaves the names as they are.
func (f *fakeSource) ReadTags(vcenter string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tagReads++
	if f.slowNames > 0 {
		began := time.Now()
		time.AfterFunc(f.slowNames, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			for n, p := range f.places {
				if vcenterOf(n) == vcenter {
					p.TagNamesReadAt = began
					f.places[n] = p
				}
			}
			f.contacts[vcenter] = time.Now()
			f.announce()
		})
		return
	}
	for n := range f.oldNames {
		if vcenterOf(n) == vcenter {
			delete(f.oldNames, n)
		}
	}
	f.announce()
}

// TestNamesThatTakeLong: tag names read after the request are used, although they are too old once they are known.
func TestNamesThatTakeLong(t *testing.T) {
	const takes = 90 * time.Second
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.mu.Lock()
		w.source.slowNames = takes
		w.source.oldNames["east-1"] = true
		w.source.mu.Unlock()
		w.source.place(at("r", "a", "r1"), nil, "east-1", "east-2")
		w.pass(takes - time.Second)
		w.wantLabels("east-1")
		w.wantLabels("east-2", append(zoned("r", "a"), rack+"=r1")...)
		w.pass(2 * time.Second)
		w.wantLabels("east-1", append(zoned("r", "a"), rack+"=r1")...)
	}, named("east-1"), named("east-2"))
}

const (
	small = "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"
	large = "vsphere-vm.cpu-8.mem-32gb.os-ubuntu"
)

// typed returns both labels of an instance type.
func typed(beta, stable string) []string {
	return []string{v1.LabelInstanceType + "=" + beta, plan.LabelInstanceType + "=" + stable}
}

// resize changes the instance type of VMs.
func (f *fakeSource) resize(nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		p := f.places[n]
		vm := *p.VM
		p.VM, p.InstanceType = &vm, large
		f.places[n] = p
	}
	f.announce()
}

// TestInstanceTypeIsUpdated: once settled, both labels change in one patch, even without a placement.
func TestInstanceTypeIsUpdated(t *testing.T) {
	for name, unplaced := range map[string]error{"placed": nil, "without a place": topology.ErrMissing} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
				w.source.place(at("r", "a", ""), unplaced, "east-1")
				w.source.resize("east-1")
				w.pass(settle - time.Millisecond)
				if s := w.stats(); w.patches() > 0 || s.Resized != 1 || s.Drifting != 0 {
					t.Errorf("%d patches, %+v", w.patches(), s)
				}
				w.pass(time.Millisecond)
				w.wantLabels("east-1", append(zoned("r", "a"), typed(large, large)...)...)
				if s := w.stats(); w.patches() != 1 || s.Resized != 0 || s.Writes[plan.ActionUpdate] != 1 {
					t.Errorf("%d patches, %+v", w.patches(), s)
				}
				if unplaced == nil {
					w.wantEvents("east-1 InstanceTypeUpdated")
				}
			}, named("east-1", append(zoned("r", "a"), typed(small, small)...)...))
		})
	}
}

// TestInstanceTypeSettlesByItself: the instance type and the zone settle independently, and a failed write is retried.
func TestInstanceTypeSettlesByItself(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle / 2)
		w.source.resize("east-1")
		w.pass(settle / 2)
		w.wantLabels("east-1", append(zoned("r", "b"), typed(small, small)...)...)
		failed := false
		w.rejecting(func(string) error {
			if failed {
				return nil
			}
			failed = true
			return apierrors.NewInternalError(errors.New("no"))
		})
		w.pass(settle/2 + time.Second)
		w.wantLabels("east-1", append(zoned("r", "b"), typed(large, large)...)...)
		w.wantEvents("east-1 TopologyUpdated", "east-1 InstanceTypeUpdated")
	}, named("east-1", append(zoned("r", "a"), typed(small, small)...)...))
}
