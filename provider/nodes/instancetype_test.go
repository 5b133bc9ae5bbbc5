package nodes

import (
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/config"
	"vzones/provider/plan"
	"vzones/topology"
)

const (
	small = "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"
	large = "vsphere-vm.cpu-8.mem-32gb.os-ubuntu"
)

// typed are the labels of an instance type in both keys.
func typed(beta, stable string) []string {
	return []string{v1.LabelInstanceType + "=" + beta, plan.LabelType + "=" + stable}
}

// resize makes Nodes' machines large ones.
func (f *fakeSource) resize(nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		p := f.places[n]
		machine := *p.Machine
		p.Machine, p.InstanceType = &machine, large
		f.places[n] = p
	}
	f.announce()
}

// TestInstanceTypeIsUpdated: both keys in one write, once it has settled, also where
// the Node has no place.
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

// TestInstanceTypeSettlesByItself: it does not wait for a zone that differs, nor does
// a zone wait for it; and a write that fails is tried again.
func TestInstanceTypeSettlesByItself(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		w.source.place(at("r", "b", ""), nil, "east-1")
		w.pass(settle / 2)
		w.source.resize("east-1")
		w.pass(settle / 2)
		w.wantLabels("east-1", append(zoned("r", "b"), typed(small, small)...)...)
		failed := false
		w.refusing(func(string) error {
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
