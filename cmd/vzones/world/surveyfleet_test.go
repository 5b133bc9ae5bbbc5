package world

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2/ktesting"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const getTag = "GET /com/vmware/cis/tagging/tag/id:{id}"

var policy = topology.Policy{Rules: topology.Rules{
	{Label: topology.LabelRegion, Category: "region", Required: true},
	{Label: topology.LabelZone, Category: "zone", Required: true},
}}

var needs = vcenter.Requirements{Tags: true, Categories: []string{"region", "zone"}}

const twoVCenters = vcentertest.TwoVCenters

// A surveyedFleet is a simulated fleet and a Fleet that reads it.
type surveyedFleet struct {
	*testing.T
	ctx   context.Context
	sim   *fleet.Fleet
	fleet *vcenter.Fleet
	stop  func()
}

// surveyed waits for all vCenters to be read.
func surveyed(t *testing.T, description string) *surveyedFleet {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	sim, cfgs := vcentertest.Simulate(t, description)
	w := &surveyedFleet{T: t, ctx: ctx, sim: sim}
	w.fleet = vcenter.NewFleet(cfgs, vcenter.FromFile, vcenter.Options{
		Requirements: needs, TagRefresh: time.Hour, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond,
		Timeout: 20 * time.Second, // beside load, for hundreds of machines
	})
	changed, ended := w.fleet.Subscribe(), make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.fleet.Run(ctx)
	}()
	w.stop = func() { cancel(); <-ended }
	t.Cleanup(w.stop)
	limit := time.After(3 * time.Minute)
	for slices.ContainsFunc(w.fleet.States(), func(s inventory.State) bool { return s.Snapshot == nil }) {
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("not read: %+v", w.fleet.States())
		}
	}
	return w
}

func (w *surveyedFleet) read(q SurveyQuery) []Survey {
	return readSurveys(w.ctx, w.fleet.Sessions(), needs, q)
}

// moid returns the managed object ID of a machine.
func (w *surveyedFleet) moid(machine string) string {
	w.Helper()
	m, err := w.sim.Machine(machine)
	if err != nil {
		w.Fatal(err)
	}
	return m.MoID
}
