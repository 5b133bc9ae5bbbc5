package provider

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/provider/absence"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestInstanceExistsBesideUnreadableMachines: one of them may be the Node's, unless
// its UUID is known, or it stood beside the Node's machine.
func TestInstanceExistsBesideUnreadableMachines(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen := func(vcenter string, after time.Duration) inventory.LastSeen {
		return inventory.LastSeen{VCenter: vcenter, ID: "vm-8", At: noon.Add(after)}
	}
	for _, c := range []struct {
		name     string
		node     *v1.Node
		seen     inventory.LastSeen
		states   states
		exists   bool
		searched bool // and the Node is deleted, since the search finds nothing
	}{
		{"never seen", ours(), inventory.LastSeen{}, states{stateOf("east"), unreadable("west", "", noon)}, false, false},
		{"seen beside it", ours(), seen("west", 0), states{stateOf("east"), unreadable("west", "", noon)}, false, true},
		{"it came after", ours(), seen("west", -time.Second), states{stateOf("east"), unreadable("west", "", noon)}, false, false},
		{"elsewhere, not long enough", ours(), seen("east", 59*time.Minute), states{stateOf("east"), unreadable("west", "", noon)}, false, false},
		{"elsewhere, long enough", ours(), seen("east", time.Hour), states{stateOf("east"), unreadable("west", "", noon)}, false, true},
		{"its own, remembered", ours(), inventory.LastSeen{}, states{unreadable("east", uuidA, noon)}, true, false},
		{"its own, in trouble", ours(), inventory.LastSeen{}, states{failing(unreadable("east", uuidA, noon))}, true, false},
		{"another's, remembered", running(), inventory.LastSeen{}, states{unreadable("east", uuidB, noon)}, false, true},
		{"another's, in trouble", ours(), inventory.LastSeen{}, states{failing(unreadable("east", uuidB, noon))}, false, false},
		{"outside", ours(), inventory.LastSeen{}, states{outside(machine(uuidA))}, false, false},
		{"seen, and not initialized", aNode("node-1", withSystemUUID(uuidA)), seen("east", time.Hour), states{stateOf("east")}, false, false},
		{"never found", ours(), inventory.LastSeen{}, states{stateOf("east")}, false, false},
		{"known in a vCenter that is not configured", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("old/vm-1")), seen("east", time.Hour), states{stateOf("east")}, false, false},
		{"known in one that is", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1")), inventory.LastSeen{}, states{stateOf("east")}, false, true},
		{"known as nothing that can be read", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("nonsense")), inventory.LastSeen{}, states{stateOf("east")}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, f := provide(c.states)
			f.quiet = true // when they answered last is as in the states
			searched := false
			f.confirm = func(_ context.Context, id inventory.Identity) error {
				searched = true
				if u := mustUUID(uuidA); id.Recorded != nodeinfo.ParseLocation(c.node.Annotations[nodeinfo.KeyMachine]) || !slices.Contains(id.UUIDs, u) || !slices.Contains(id.UUIDs, u.Swapped()) {
					t.Errorf("searched for %+v, %v", id.Recorded, id.UUIDs)
				}
				return nil
			}
			if c.seen.VCenter != "" {
				p.placer.NoteSeen(c.node.UID, c.seen)
			}
			exists, err := asked(t, p, f, c.node)
			if exists != c.exists || searched != c.searched || !c.exists && !c.searched && !errors.Is(err, topology.ErrUnknown) || (c.exists || c.searched) && err != nil {
				t.Errorf("%v, %v, searched %v", exists, err, searched)
			}
			conditions := p.checker.Conditions(t.Context(), c.states, c.node)
			if hold := !slices.ContainsFunc(conditions, func(c absence.Condition) bool { return c.Name != absence.NotReady && !c.Holds() }); hold != c.searched {
				t.Errorf("the conditions for its deletion are %v", conditions)
			}
		})
	}
}

// TestANodeMadeAnewIsNotDeleted: the framework goes through a list of Nodes that
// may be minutes old, and deletes by name.
func TestANodeMadeAnewIsNotDeleted(t *testing.T) {
	for name, change := range map[string]func(*cluster, *v1.Node){
		"registered again": func(c *cluster, n *v1.Node) {
			if err := c.client.CoreV1().Nodes().Delete(c.ctx, n.Name, metav1.DeleteOptions{}); err != nil {
				c.Fatal(err)
			}
			c.create(aNode(n.Name, withProviderID("vsphere://"+uuidB), silent, func(n *v1.Node) { n.UID = "other" }))
		},
		"gone": func(c *cluster, n *v1.Node) {
			if err := c.client.CoreV1().Nodes().Delete(c.ctx, n.Name, metav1.DeleteOptions{}); err != nil {
				c.Fatal(err)
			}
		},
		"ready again": func(c *cluster, n *v1.Node) { c.heartbeat(n.Name) },
		"none of ours any more": func(c *cluster, n *v1.Node) {
			n = n.DeepCopy()
			n.Labels = map[string]string{"cloud": "another"}
			if _, err := c.client.CoreV1().Nodes().Update(c.ctx, n, metav1.UpdateOptions{}); err != nil {
				c.Fatal(err)
			}
			own, err := labels.Parse("cloud!=another")
			if err != nil {
				c.Fatal(err)
			}
			now := *c.provider.placer.Config()
			now.NodeSelector = own
			c.provider.Apply(&now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, &fakeFleet{confirm: nobody, states: states{stateOf("east", machine(uuidB))}}, func(c *cluster) {
				old := c.node("node-1")
				if exists, err := c.provider.InstanceExists(c.ctx, old); exists || err != nil {
					t.Errorf("before: %v, %v", exists, err)
				}
				change(c, old)
				c.settle()
				if exists, err := c.provider.InstanceExists(c.ctx, old); !exists && !errors.Is(err, topology.ErrUnknown) {
					t.Errorf("%v, %v", exists, err)
				}
			}, gone())
		})
	}
}
