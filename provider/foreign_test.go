package provider

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/vcenter/inventory"
)

func ready(status v1.ConditionStatus) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	}
}

// TestAskedAboutANodeThatIsLeftOut: by whoever does not list through us.
func TestAskedAboutANodeThatIsLeftOut(t *testing.T) {
	fleet := &fakeFleet{confirm: nobody, states: states{stateOf("east", machine(uuidB, withPower(inventory.PowerOff)))}}
	leftOut := []*v1.Node{gone(), aNode("down", withProviderID("vsphere://"+uuidB), untainted, silent)}
	withBoth(t, fleet, "cloud=vsphere", func(c *cluster) {
		if own, err := c.provider.NodeInformer().Lister().List(labels.Everything()); err != nil || len(own) > 0 {
			t.Errorf("the framework sees %v, %v", own, err)
		}
		for _, ids := range fleet.followed() {
			if len(ids) > 0 {
				t.Errorf("followed: %v", ids)
			}
		}
		for _, n := range leftOut {
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
	}, leftOut...)
}
