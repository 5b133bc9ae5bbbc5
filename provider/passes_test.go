package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// countedOutcomes returns the outcomes with Nodes and their numbers.
func (c *cluster) countedOutcomes() map[string]int {
	all := c.controller.Stats().Outcomes
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

func (c *cluster) wantOutcomes(when string, want map[string]int) {
	c.Helper()
	if diff := cmp.Diff(want, c.countedOutcomes()); diff != "" {
		c.Errorf("the outcomes of the Nodes %s: %s", when, diff)
	}
}

// TestANewReasonIsSeenAtOnce: a Node has no VM before and after a change of the vCenters, for different reasons.
func TestANewReasonIsSeenAtOnce(t *testing.T) {
	f := &fakeFleet{states: states{stateOf("east")}}
	alone(t, f, func(c *cluster) {
		f.become() // the first pass is about all Nodes
		c.pass(gather)
		c.wantOutcomes("at first", map[string]int{"vm_not_found": 2})
		f.become(failing(stateOf("east")))
		c.pass(gather)
		c.wantOutcomes("after the vCenter has failed", map[string]int{"vcenter_unreachable": 2})
	}, aNode("joins", withSystemUUID(uuidA)), aNode("runs", withProviderID("vsphere://"+uuidB), untainted))
}

// TestTheNextNodeOfAVMIsSeenAtOnce: a Node whose VM belongs to another Node is initialized once that Node is gone, without a
// change of a vCenter.
func TestTheNextNodeOfAVMIsSeenAtOnce(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}, func(c *cluster) {
		if got := c.countedOutcomes(); got[report.Placed] != 1 || len(got) != 2 {
			t.Errorf("two Nodes of one VM: %v, want one of them %s", got, report.Placed)
		}
		c.delete("first")
		c.pass(2 * gather)
		c.wantOutcomes("after the first is gone", map[string]int{report.Placed: 1})
	}, aNode("first", withSystemUUID(uuidA), madeAt(0)), aNode("second", withSystemUUID(uuidA), madeAt(1)))
}

// TestAContradictionAmongManyNodes: passes over many Nodes pause. A VM that was absent appears for less than that pause, and
// yet the confirmation is dropped.
func TestAContradictionAmongManyNodes(t *testing.T) {
	absent, shown := stateOf("east"), stateOf("east", newVM(uuidA))
	nodes := []*v1.Node{gone()}
	for i := range 200 {
		nodes = append(nodes, aNode(fmt.Sprintf("other-%d", i), withSystemUUID(fmt.Sprintf("422e4956-ad22-1139-6d72-0000000%05d", i+1))))
	}
	f := &fakeFleet{confirm: nobody, states: states{absent}}
	alone(t, f, func(c *cluster) {
		f.become(absent) // a pass, and the next one pauses
		c.settle()
		if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); exists || err != nil {
			t.Fatalf("at first: exists %t, error %v; want that it is confirmed to be absent", exists, err)
		}
		f.mu.Lock()
		f.confirm = func(ctx context.Context, _ inventory.Identity) error { <-ctx.Done(); return ctx.Err() }
		f.mu.Unlock()
		for _, state := range []inventory.State{shown, absent} {
			f.become(state)
			c.settle()
		}
		if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); exists || !errors.Is(err, placement.ErrConfirming) {
			t.Errorf("after it was shown for a moment: exists %t, error %v; want that it is confirmed again", exists, err)
		}
		c.pass(time.Second)
	}, nodes...)
}

// TestANodeThatIsLeftOut by a new selector is forgotten at once, and its VM watched again once it is ours again.
func TestANodeThatIsLeftOut(t *testing.T) {
	f := &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}
	node := aNode("node-1", withProviderID("vsphere://"+uuidA), untainted)
	alone(t, f, func(c *cluster) {
		apply := func(selector string) (seen bool, followed int) {
			own, err := labels.Parse(selector)
			if err != nil {
				c.Fatal(err)
			}
			cfg := testConfig()
			cfg.NodeSelector = own
			c.provider.Apply(cfg)
			f.become()
			c.pass(gather)
			id, err := c.provider.placer.Identify(c.node("node-1"))
			if err != nil {
				c.Fatal(err)
			}
			all := f.followed()
			return id.Seen, len(all[len(all)-1])
		}
		for _, step := range []struct {
			selector string
			seen     bool
			followed int
		}{{"cloud!=another", true, 1}, {"cloud=vsphere", false, 0}, {"cloud!=another", true, 1}} {
			if seen, followed := apply(step.selector); seen != step.seen || followed != step.followed {
				c.Errorf("selector %s: VM seen %t, %d VMs followed; want %t, %d", step.selector, seen, followed, step.seen, step.followed)
			}
		}
	}, node)
}
