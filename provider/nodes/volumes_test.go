package nodes

import (
	"testing"
	"time"

	"vzones/config"
	"vzones/topology"
)

// AskHome does nothing.
func (f *fakeSource) AskHome(string, string) {}

// ReadTags finds the names as they are.
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

func (f *fakeSource) Tagged() []topology.Tagged {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tagged
}

// TestOldNames: nothing is written by names that may be old; they are read first.
func TestOldNames(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.mu.Lock()
		w.source.oldNames["east-1"] = true
		w.source.mu.Unlock()
		w.source.place(at("r", "a", "r1"), nil, "east-1")
		w.settle()
		w.pass(time.Second)
		w.source.mu.Lock()
		reads := w.source.tagReads
		w.source.mu.Unlock()
		if reads != 1 || w.patches() != 1 {
			t.Errorf("names were read %d times, and %d patches made", reads, w.patches())
		}
		w.wantLabels("east-1", append(zoned("r", "a"), rack+"=r1")...)
	}, named("east-1"))
}

// TestNamesThatTakeLong: a Node is written by names that were read since they were asked
// for, although they are old by the time that they are known.
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

// TestVolumes: a tag where the CSI driver fails is reported on the Nodes of its zone, once,
// and it is over when it is detached.
func TestVolumes(t *testing.T) {
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		placed := at("r", "a", "")
		cluster := &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ClusterComputeResource", ID: "domain-c1"}, Tags: []topology.Tag{{Category: "region", Name: "r"}, {Category: "zone", Name: "a"}}}
		for i := range placed.Decisions {
			d := &placed.Decisions[i]
			d.By, d.Category = cluster, map[string]string{topology.LabelRegion: "region", topology.LabelZone: "zone"}[d.Label]
		}
		pool := &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ResourcePool", ID: "resgroup-9"}, Path: "gold (resgroup-9)"}
		cfg := topologyOf(config.DriftReport)
		for i, category := range []string{"region", "zone"} {
			cfg.Policy.Rules[i].Category, cfg.Policy.Rules[i].Inventory = category, ""
		}
		w.source.configure(cfg)
		report := func(tagged ...topology.Tagged) {
			w.source.mu.Lock()
			w.source.tagged = tagged
			w.source.announce()
			w.source.mu.Unlock()
			w.pass(time.Minute)
		}
		w.source.place(placed, nil, "east-1")
		report()
		w.wantEvents()
		report(topology.Tagged{VCenter: "east", Category: "zone", Name: "a", NoHosts: []*topology.Object{pool}})
		if n := w.stats().Conflicts[topology.ConflictNoHosts]; n != 1 {
			t.Errorf("%d Nodes have the conflict", n)
		}
		report()
		if n := w.stats().Conflicts[topology.ConflictNoHosts]; n != 0 {
			t.Errorf("%d Nodes have the conflict", n)
		}
		w.wantEvents("east-1 TopologyConflict", "east-1 ProblemResolved")
	}, named("east-1", zoned("r", "a")...))
}
