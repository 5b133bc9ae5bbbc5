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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestDeletionsAreOfTheNodeThatWasAskedAbout: an answer allows one deletion, of its own Node.
func TestDeletionsAreOfTheNodeThatWasAskedAbout(t *testing.T) {
	p, f := provide(states{stateOf("east")})
	f.confirm = nobody
	node := gone()
	var deleted []metav1.DeleteOptions
	client := fake.NewClientset(node)
	client.PrependReactor("delete", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		deleted = append(deleted, a.(clienttesting.DeleteActionImpl).DeleteOptions) //nolint:forcetypeassert // of that verb
		return true, nil, nil
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSync(t.Context().Done())
	nodes := func() typedv1.NodeInterface { return p.Client(client).CoreV1().Nodes() }
	del := func(opts metav1.DeleteOptions) error { return nodes().Delete(t.Context(), node.Name, opts) }

	if err := del(metav1.DeleteOptions{}); err == nil {
		t.Error("deleted, and nobody was asked")
	}
	if exists, err := asked(t, p, f, node); exists || err != nil {
		t.Fatalf("InstanceExists of an absent VM = %t, %v, want false", exists, err)
	}
	version := "7"
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
	if err := del(opts); err != nil {
		t.Fatal(err)
	}
	if err := del(metav1.DeleteOptions{}); err == nil {
		t.Error("deleted twice")
	}
	if len(deleted) != 1 {
		t.Fatalf("%d requests", len(deleted))
	}
	if pre := deleted[0].Preconditions; pre == nil || pre.UID == nil || *pre.UID != node.UID || pre.ResourceVersion == nil || *pre.ResourceVersion != version {
		t.Errorf("deleted with %+v", pre)
	}
	if opts.Preconditions.UID != nil {
		t.Error("the options of the caller have changed")
	}
	// Labels need no answer, but the Node in the cache, and there is none.
	patch := []byte(`{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}`)
	if n, err := nodes().Patch(t.Context(), "another", types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
		t.Errorf("labels of a Node that is not in the cache were written: %v", n.Labels)
	}
}

// TestInstanceExistsBesideUnreadableVMs: an unreadable VM may be the Node's, unless its UUID is known or it was seen
// beside the Node's VM.
func TestInstanceExistsBesideUnreadableVMs(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen := func(vcenter string, after time.Duration) inventory.LastSeen {
		return inventory.LastSeen{VCenter: vcenter, ID: "vm-8", At: noon.Add(after)}
	}
	for _, c := range []struct {
		name   string
		node   *v1.Node
		seen   inventory.LastSeen
		states states
		exists bool
		// searched reports whether the VM is searched for. The search finds nothing, so the Node is deleted.
		searched bool
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
		{"outside", ours(), inventory.LastSeen{}, states{outside(newVM(uuidA))}, false, false},
		{"seen, and not initialized", aNode("node-1", withSystemUUID(uuidA)), seen("east", time.Hour), states{stateOf("east")}, false, false},
		{"never found", ours(), inventory.LastSeen{}, states{stateOf("east")}, false, false},
		{"known in a vCenter that is not configured", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("old/vm-1")), seen("east", time.Hour), states{stateOf("east")}, false, false},
		{"known in one that is", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1")), inventory.LastSeen{}, states{stateOf("east")}, false, true},
		{"known as nothing that can be read", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("nonsense")), inventory.LastSeen{}, states{stateOf("east")}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, f := provide(c.states)
			f.quiet = true // the states contain the time of the last answers
			searched := false
			f.confirm = func(_ context.Context, id inventory.Identity) error {
				searched = true
				if u := mustUUID(uuidA); id.Recorded != nodeinfo.ParseLocation(c.node.Annotations[nodeinfo.KeyVM]) || !slices.Contains(id.UUIDs, u) || !slices.Contains(id.UUIDs, u.Swapped()) {
					t.Errorf("searched for the recorded VM %+v and the UUIDs %v, want the VM of the annotation and both forms of %s", id.Recorded, id.UUIDs, u)
				}
				return nil
			}
			if c.seen.VCenter != "" {
				was := stateOf(c.seen.VCenter, newVM(uuidA, func(m *inventory.VM) { m.Ref.ID = c.seen.ID }))
				was.LastContact = c.seen.At
				p.placer.Observe(states{was}, c.node)
			}
			exists, err := asked(t, p, f, c.node)
			if exists != c.exists || searched != c.searched || !c.exists && !c.searched && !errors.Is(err, topology.ErrUnknown) || (c.exists || c.searched) && err != nil {
				t.Errorf("%v, %v, searched %v", exists, err, searched)
			}
			conditions := p.checker.Conditions(t.Context(), c.states, c.node)
			if hold := !slices.ContainsFunc(conditions, func(c placement.Condition) bool { return c.Name != placement.NotReady && !c.Holds() }); hold != c.searched {
				t.Errorf("the conditions for its deletion are %v", conditions)
			}
		})
	}
}

// TestANodeMadeAnewIsNotDeleted: the framework deletes by name, from a list that may be minutes old.
func TestANodeMadeAnewIsNotDeleted(t *testing.T) {
	for name, change := range map[string]func(*cluster, *v1.Node){
		"registered again": func(c *cluster, n *v1.Node) {
			c.delete(n.Name)
			c.create(aNode(n.Name, withProviderID("vsphere://"+uuidB), silent, func(n *v1.Node) { n.UID = "other" }))
		},
		"gone": func(c *cluster, n *v1.Node) {
			c.delete(n.Name)
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
			alone(t, &fakeFleet{confirm: nobody, states: states{stateOf("east", newVM(uuidB))}}, func(c *cluster) {
				old := c.node("node-1")
				if exists, err := c.provider.InstanceExists(c.ctx, old); exists || err != nil {
					t.Errorf("InstanceExists before the change = %t, %v, want false", exists, err)
				}
				change(c, old)
				c.settle()
				if exists, err := c.provider.InstanceExists(c.ctx, old); !exists && !errors.Is(err, topology.ErrUnknown) {
					t.Errorf("InstanceExists after the change = %t, %v, want true or the error %q", exists, err, topology.ErrUnknown)
				}
			}, gone())
		})
	}
}

// TestAnEntryOfAnotherVCenter: the VM may still run in the previous vCenter.
func TestAnEntryOfAnotherVCenter(t *testing.T) {
	as := func(name, instance string, vms ...*inventory.VM) inventory.State {
		s := stateOf(name, vms...)
		s.Snapshot.Instance = instance
		return s
	}
	for name, c := range map[string]struct {
		after  states
		absent bool
	}{
		"the same":               {states{as("east", "one"), as("west", "two")}, true},
		"another":                {states{as("east", "three"), as("west", "two")}, false},
		"one that does not tell": {states{as("east", ""), as("west", "two")}, true},
		// What a server at another address reports about itself is no proof.
		"its entry is the other now":    {states{as("east", "two"), as("west", "one")}, false},
		"another, and the VM is":        {states{as("east", "three"), as("west", "two", newVM(uuidA))}, false},
		"removed, and one of that name": {states{as("east", "three")}, false},
	} {
		// After a restart only the Node's annotations identify the vCenter of its VM.
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restarted ", restarted), func(t *testing.T) {
				n := running()
				n.Annotations = nil
				before := states{as("east", "one", newVM(uuidA)), as("west", "two")}
				if restarted {
					n.Annotations = map[string]string{nodeinfo.KeyVM: "east/vm-1", nodeinfo.KeyVCenter: "one"}
					before = c.after
				}
				silent(n)
				alone(t, &fakeFleet{states: before, confirm: nobody}, func(cl *cluster) {
					// The provider sees the VM.
					cl.settle()
					cl.fleet.become(c.after...)
					cl.settle()
					exists, err := cl.provider.InstanceExists(cl.ctx, cl.node("node-1"))
					if absent := !exists && err == nil; absent != c.absent {
						t.Errorf("InstanceExists = %t, %v, want absent %t", exists, err, c.absent)
					}
					if err != nil && !errors.Is(err, topology.ErrUnknown) {
						t.Error(err)
					}
				}, n)
			})
		}
	}
}

// TestWhyANodeIsNotDeleted: one Event and a metric give the reason.
func TestWhyANodeIsNotDeleted(t *testing.T) {
	rejected := fmt.Errorf(`%w: vCenter "west": refused`, topology.ErrUnknown)
	empty := states{stateOf("east"), stateOf("west")}
	for reason, c := range map[string]struct {
		states  states
		confirm error
		skip    bool
		event   string // an additional Event
	}{
		"deletion_disabled":      {empty, nil, true, "VMNotFound"},
		"search_failed":          {empty, rejected, false, "VMNotFound"},
		"found_by_search":        {empty, errors.New(`vCenter "west" has it`), false, "VMNotFound"},
		"vm_outside_datacenters": {states{outside(newVM(uuidA)), stateOf("west")}, nil, false, "VMOutsideDatacenters"},
		"vcenter_unreachable":    {states{stateOf("east"), failing(stateOf("west"))}, nil, false, "VCenterUnreachable"},
		"vm_unreadable":          {states{stateOf("east"), unreadable("west", "", time.Now().Add(time.Hour))}, nil, false, "VMUnreadable"},
		"unknown":                {states{stateOf("east"), incomplete(stateOf("west"))}, nil, false, "VCenterDataUnavailable"},
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
						t.Errorf("InstanceExists = %t, %v, want false and an error", exists, err)
					}
					fleet.become(c.states...)
					cl.pass(monitorEvery)
				}
				got := cl.events()
				slices.Sort(got)
				if want := slices.Sorted(slices.Values([]string{"node-1 " + c.event, "node-1 " + placement.ReasonNotDeleted})); !slices.Equal(got, want) {
					t.Errorf("Events %q, want %q", got, want)
				}
				for name, n := range cl.controller.Stats().KeptReasons {
					if name == reason && n != 1 || name != reason && n != 0 {
						t.Errorf("%d Nodes are kept by %s", n, name)
					}
				}
			}, gone())
		})
	}
}

// TestNoNodeIsKept: no Event about Nodes that would not be deleted anyway.
func TestNoNodeIsKept(t *testing.T) {
	troubles := states{stateOf("east"), failing(stateOf("west"))}
	for name, node := range map[string]*v1.Node{
		"ready":              running(),
		"never found":        aNode("node-1", withSystemUUID(uuidA), untainted, silent),
		"another provider's": aNode("node-1", withProviderID(foreignID), untainted, silent),
		"its VM exists":      aNode("node-1", withProviderID("vsphere://"+uuidB), untainted, silent),
	} {
		t.Run(name, func(t *testing.T) {
			troubles := append(states{stateOf("north", newVM(uuidB))}, troubles...)
			alone(t, &fakeFleet{states: troubles}, func(c *cluster) {
				c.pass(time.Hour)
				if slices.Contains(c.events(), "node-1 "+placement.ReasonNotDeleted) {
					t.Error(c.events())
				}
				for reason, n := range c.controller.Stats().KeptReasons {
					if n != 0 {
						t.Errorf("%d Nodes are kept by %s", n, reason)
					}
				}
			}, node)
		})
	}
}

// TestLongRecordProtects: an annotation that vzones cannot have written is not treated as missing, because then the Node
// might be deleted.
func TestLongRecordProtects(t *testing.T) {
	for _, key := range []string{nodeinfo.KeyVM, nodeinfo.KeyVCenter} {
		for _, size := range []int{512 + 1, 100_000} {
			fleet := &fakeFleet{states: states{stateOf("east")}}
			p := New(fleet, testConfig(), Options{})
			n := aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, silent)
			annotate(n, key, "east/"+strings.Repeat("x", size-len("east/")))
			exists, err := p.InstanceExists(t.Context(), n)
			if exists || err == nil || placement.KeptReason(err) != "unknown" || len(err.Error()) > 500 || !strings.Contains(err.Error(), key) {
				t.Errorf("%s of %d bytes: exists %v: %.600v", key, size, exists, err)
			}
		}
	}
}
