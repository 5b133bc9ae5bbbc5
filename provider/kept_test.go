package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/absence"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestWhyANodeIsNotDeleted is told in one Event and counted.
func TestWhyANodeIsNotDeleted(t *testing.T) {
	refused := fmt.Errorf(`%w: vCenter "west": refused`, topology.ErrUnknown)
	empty := states{stateOf("east"), stateOf("west")}
	for reason, c := range map[string]struct {
		states  states
		confirm error
		skip    bool
		event   string // beside it
	}{
		"deletion_disabled":   {empty, nil, true, "MachineNotFound"},
		"search_failed":       {empty, refused, false, "MachineNotFound"},
		"found_by_search":     {empty, errors.New(`vCenter "west" has it`), false, "MachineNotFound"},
		"outside_datacenters": {states{outside(machine(uuidA)), stateOf("west")}, nil, false, "MachineOutsideDatacenters"},
		"vcenter_unreachable": {states{stateOf("east"), failing(stateOf("west"))}, nil, false, "VCenterUnreachable"},
		"machine_unreadable":  {states{stateOf("east"), unreadable("west", "", time.Now().Add(time.Hour))}, nil, false, "MachineUnreadable"},
		"unknown":             {states{stateOf("east"), incomplete(stateOf("west"))}, nil, false, "VCenterUnknown"},
	} {
		t.Run(reason, func(t *testing.T) {
			fleet := &fakeFleet{states: c.states, confirm: func(context.Context, inventory.Identity) error { return c.confirm }}
			alone(t, fleet, func(cl *cluster) {
				cfg := testConfig()
				cfg.SkipNodeDeletion = c.skip
				cl.provider.Apply(cfg)
				fleet.become()
				for range 60 {
					if exists, err := cl.provider.InstanceExists(cl.ctx, cl.node("node-1")); exists || err == nil {
						t.Errorf("%v, %v", exists, err)
					}
					fleet.become(c.states...)
					cl.pass(monitorEvery)
				}
				got := cl.events()
				slices.Sort(got)
				if want := slices.Sorted(slices.Values([]string{"node-1 " + c.event, "node-1 " + absence.ReasonNotDeleted})); !slices.Equal(got, want) {
					t.Errorf("Events %q, want %q", got, want)
				}
				for name, n := range cl.controller.Kept() {
					if name == reason && n != 1 || name != reason && n != 0 {
						t.Errorf("%d Nodes are kept by %s", n, name)
					}
				}
			}, gone())
		})
	}
}

// TestNoNodeIsKept that nobody would delete.
func TestNoNodeIsKept(t *testing.T) {
	troubles := states{stateOf("east"), failing(stateOf("west"))}
	for name, node := range map[string]*v1.Node{
		"ready":              running(),
		"never found":        aNode("node-1", withSystemUUID(uuidA), untainted, silent),
		"another provider's": aNode("node-1", withProviderID(foreignID), untainted, silent),
		"its machine exists": aNode("node-1", withProviderID("vsphere://"+uuidB), untainted, silent),
	} {
		t.Run(name, func(t *testing.T) {
			troubles := append(states{stateOf("north", machine(uuidB))}, troubles...)
			alone(t, &fakeFleet{states: troubles}, func(c *cluster) {
				c.pass(time.Hour)
				if slices.Contains(c.events(), "node-1 "+absence.ReasonNotDeleted) {
					t.Error(c.events())
				}
				for reason, n := range c.controller.Kept() {
					if n != 0 {
						t.Errorf("%d Nodes are kept by %s", n, reason)
					}
				}
			}, node)
		})
	}
}

// TestLongRecordProtects: an annotation of ours that nobody can have written as it is does
// not count as none, without which the Node might be deleted.
func TestLongRecordProtects(t *testing.T) {
	for _, key := range []string{nodeinfo.KeyMachine, nodeinfo.KeyVCenter} {
		for _, size := range []int{512 + 1, 100_000} {
			fleet := &fakeFleet{states: states{stateOf("east")}}
			p := New(fleet, testConfig(), Options{})
			n := aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, silent)
			annotate(n, key, "east/"+strings.Repeat("x", size-len("east/")))
			exists, err := p.InstanceExists(t.Context(), n)
			if exists || err == nil || absence.KeptBy(err) != "unknown" || len(err.Error()) > 500 || !strings.Contains(err.Error(), key) {
				t.Errorf("%s of %d bytes: exists %v: %.600v", key, size, exists, err)
			}
		}
	}
}
