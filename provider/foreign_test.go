package provider

import (
	"context"
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

func labeled(labels map[string]string) func(*v1.Node) {
	return func(n *v1.Node) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		maps.Copy(n.Labels, labels)
	}
}

func ready(status v1.ConditionStatus) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	}
}

func shutdown(n *v1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: cloudproviderapi.TaintNodeShutdown, Effect: v1.TaintEffectNoSchedule})
}

// tempting are Nodes that the framework would do everything to that it can.
func tempting() []*v1.Node {
	const uuidC, uuidD = "422e4956-ad22-1139-6d72-000000000003", "422e4956-ad22-1139-6d72-000000000004"
	return []*v1.Node{
		aNode("waits", withSystemUUID(uuidA)),
		aNode("ready", withProviderID("vsphere://"+uuidB), untainted, shutdown, ready(v1.ConditionTrue),
			labeled(map[string]string{v1.LabelFailureDomainBetaZone: "a", v1.LabelTopologyZone: "b"})),
		aNode("lost", withProviderID("vsphere://"+uuidC), untainted, withRecord("east/vm-1"), ready(v1.ConditionFalse)),
		aNode("down", withProviderID("vsphere://"+uuidD), untainted, ready(v1.ConditionUnknown)),
	}
}

func temptation() *fakeFleet {
	down := machine("422e4956-ad22-1139-6d72-000000000004", withPower(inventory.PowerOff), withNICs("a=10.0.0.3"))
	return &fakeFleet{
		states:  states{stateOf("east", machine(uuidA), machine(uuidB, withNICs("a=10.0.0.2")), down)},
		confirm: func(context.Context, inventory.Identity) error { return nil },
	}
}

// TestNodesThatTheSelectorLeavesOut are not touched, whoever's they are.
func TestNodesThatTheSelectorLeavesOut(t *testing.T) {
	fleet := temptation()
	withBoth(t, fleet, "cloud=vsphere", func(c *cluster) {
		for range 3 {
			c.heartbeat("ready")
			c.pass(statusEvery + time.Second)
			c.fleet.become()
		}
		if calls, _ := c.asked.seen(); calls > 0 {
			t.Errorf("the framework asked %d times", calls)
		}
		for _, a := range c.client.Actions() {
			// Heartbeats are the test's own.
			if verb := a.GetVerb(); verb != "list" && verb != "watch" && verb != "get" && a.GetSubresource() != "status" {
				t.Errorf("%s of %s", verb, a.GetResource().Resource)
			}
		}
		for _, ids := range fleet.followed() {
			if len(ids) > 0 {
				t.Errorf("followed: %v", ids)
			}
		}
		if got := c.outcomes(); got[report.Foreign] != 4 || got[report.Placed] != 0 {
			t.Errorf("counted as %v", got)
		}

		// One that becomes ours is taken care of from then on.
		n := c.node("waits").DeepCopy()
		labeled(map[string]string{"cloud": "vsphere"})(n)
		if _, err := c.client.CoreV1().Nodes().Update(c.ctx, n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Second)
		if n := c.node("waits"); nodeinfo.IsUninitialized(n) || n.Labels[v1.LabelTopologyZone] != "a" || n.Spec.ProviderID != "vsphere://"+uuidA || n.Annotations[nodeinfo.KeyMachine] != "east/vm-1" {
			t.Errorf("it is ours, and is %+v", n)
		}
		if follows := fleet.followed(); len(follows) == 0 || len(follows[len(follows)-1]) != 1 {
			t.Errorf("followed: %v", follows)
		}
		c.pass(time.Second)
		c.wantRecorded() // the update that initialized it did
	}, tempting()...)
}

// TestTemptation: without the selector all of it happens, so the test above can fail.
func TestTemptation(t *testing.T) {
	withBoth(t, temptation(), "", func(c *cluster) {
		c.heartbeat("ready")
		c.pass(statusEvery + time.Second)
		if nodeinfo.IsUninitialized(c.node("waits")) {
			t.Error("not untainted")
		}
		if n := c.node("ready"); n.Labels[v1.LabelTopologyZone] != "a" || len(n.Spec.Taints) > 0 {
			t.Errorf("not labeled, or still tainted: %+v", n)
		}
		if _, err := c.client.CoreV1().Nodes().Get(c.ctx, "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("not deleted: %v", err)
		}
		if n := c.node("down"); len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != cloudproviderapi.TaintNodeShutdown {
			t.Errorf("not tainted: %+v", n.Spec.Taints)
		}
	}, tempting()...)
}

// TestAskedAboutANodeThatIsLeftOut: by whoever does not list through us.
func TestAskedAboutANodeThatIsLeftOut(t *testing.T) {
	withBoth(t, temptation(), "cloud=vsphere", func(c *cluster) {
		for _, n := range tempting() {
			if exists, err := c.provider.InstanceExists(c.ctx, n); !exists || err != nil {
				t.Errorf("%s: exists %v, %v", n.Name, exists, err)
			}
			if down, err := c.provider.InstanceShutdown(c.ctx, n); down || err != nil {
				t.Errorf("%s: down %v, %v", n.Name, down, err)
			}
			if _, err := c.provider.NodeInformer().Lister().Get(n.Name); !apierrors.IsNotFound(err) {
				t.Errorf("%s is there: %v", n.Name, err)
			}
		}
	}, tempting()...)
}
