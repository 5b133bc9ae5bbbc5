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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	taintAdded   = "OutOfServiceTaintAdded"
	taintRemoved = "OutOfServiceTaintRemoved"
	// detachTimeout is how long package placement keeps a Node for its volumes.
	detachTimeout = time.Minute
)

// detaching is alone with the lifecycle controller and nodes.outOfService: gone, and waits for the taint. Its only Node,
// node-1, has an attached volume and its VM vanishes from vCenter east.
func detaching(t *testing.T, fleet *fakeFleet, test func(*cluster)) {
	t.Helper()
	fleet.confirm = nobody
	fleet.states = states{stateOf("east", newVM(uuidA)), stateOf("west")}
	inBubble(t, fleet, []*v1.Node{attached(gone())}, func(c *cluster, run func(func())) {
		c.apply(func(*config.Config) {})
		l, err := lifecyclecontroller.NewCloudNodeLifecycleController(c.provider.LifecycleInformer(), c.provider.Client(c.client), c.asked, monitorEvery, 1)
		if err != nil {
			c.Fatal(err)
		}
		run(func() { l.Run(c.ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
	}, func(c *cluster) {
		c.show(newVM(uuidA))
		c.wantOutOfService("while the VM exists", "")
		fleet.become(stateOf("east"), stateOf("west"))
		c.settle()
		test(c)
	})
}

// apply replaces the configuration of the tests of this file.
func (c *cluster) apply(change func(*config.Config)) {
	cfg := testConfig()
	cfg.OutOfService = config.OutOfServiceGone
	change(cfg)
	c.provider.Apply(cfg)
	c.fleet.become()
}

// show makes vCenter east answer with a VM.
func (c *cluster) show(vm *inventory.VM) {
	east := stateOf("east", vm)
	east.LastContact = time.Now()
	c.fleet.become(east, stateOf("west"))
	c.pass(time.Second)
}

func attached(n *v1.Node) *v1.Node {
	n.Status.VolumesAttached = []v1.AttachedVolume{{Name: "csi/volume-1"}}
	return n
}

// wantOutOfService compares the values of node-1's out-of-service taints, or "deleted".
func (c *cluster) wantOutOfService(when, want string) {
	c.Helper()
	got := "deleted"
	n, err := c.client.CoreV1().Nodes().Get(c.ctx, "node-1", metav1.GetOptions{})
	if err == nil {
		var values []string
		for _, taint := range n.Spec.Taints {
			if taint.Key == v1.TaintNodeOutOfService {
				values = append(values, taint.Value)
			}
			if nodeinfo.IsVMGone(taint) && (taint.Effect != v1.TaintEffectNoExecute || taint.TimeAdded == nil) {
				c.Errorf("%s: the taint is %+v, want the effect NoExecute and a time", when, taint)
			}
		}
		got = strings.Join(values, " ")
	} else if !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
	if got != want {
		c.Errorf("%s at %v: the out-of-service taint of node-1 is %q, want %q", when, time.Now().UTC().Format("15:04:05"), got, want)
	}
}

// detach empties the list of volumes, as the attach/detach controller does.
func (c *cluster) detach() {
	n := c.node("node-1").DeepCopy()
	n.Status.VolumesAttached = nil
	c.updateStatus(n)
}

// report sets node-1's Ready condition, and waits until the daemon knows it: the fake API server does not reject the
// patch of a daemon that has an older version of the Node.
func (c *cluster) report(ready v1.ConditionStatus) {
	n := c.node("node-1").DeepCopy()
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}
	c.updateStatus(n)
	c.settle()
}

func (c *cluster) taint(taints ...v1.Taint) {
	n := c.node("node-1").DeepCopy()
	n.Spec.Taints = taints
	if _, err := c.client.CoreV1().Nodes().Update(c.ctx, n, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// wantTaintEvents compares the Events about the taint with reasons and parts of their messages.
func (c *cluster) wantTaintEvents(want ...string) {
	c.Helper()
	c.pass(time.Millisecond)
	var got []string
	for _, a := range c.client.Actions() {
		create, ok := a.(clienttesting.CreateAction)
		if !ok {
			continue
		}
		if e, ok := create.GetObject().(*v1.Event); ok && (e.Reason == taintAdded || e.Reason == taintRemoved) {
			got = append(got, e.Reason+" "+e.Message)
		}
	}
	matches := slices.EqualFunc(got, want, func(got, want string) bool {
		reason, part, _ := strings.Cut(want, " ")
		return strings.HasPrefix(got, reason+" ") && strings.Contains(got, part)
	})
	if !matches {
		c.Errorf("Events %q, want %q", got, want)
	}
}

// TestTheTaintComesBeforeTheDeletion: a Node whose VM is gone is tainted first, and deleted once its volumes are detached.
func TestTheTaintComesBeforeTheDeletion(t *testing.T) {
	detaching(t, &fakeFleet{}, func(c *cluster) {
		c.wantOutOfService("after the search", nodeinfo.VMGone)
		c.wantTaintEvents(taintAdded + ` no VM has UUID ` + uuidA + `: searched vCenters "east", "west"; VM vm-1 of vCenter "east", which was the VM, does not exist`)
		if kept := c.controller.Stats().KeptReasons["detaching_volumes"]; kept != 1 {
			t.Errorf("%d Nodes are kept for their volumes, want 1", kept)
		}
		c.pass(detachTimeout / 2)
		c.wantOutOfService("while a volume is attached", nodeinfo.VMGone)
		c.detach()
		c.pass(monitorEvery)
		c.wantOutOfService("without volumes", "deleted")
		for _, event := range c.events() {
			if event == "node-1 "+placement.ReasonNotDeleted {
				t.Errorf("Events %q, want no %s", c.events(), placement.ReasonNotDeleted)
			}
		}
	})
}

// TestVolumesDelayADeletionForAMinute even if no controller detaches them, and if the taint cannot be written.
func TestVolumesDelayADeletionForAMinute(t *testing.T) {
	for name, prepare := range map[string]func(*cluster){
		"the volumes stay": func(*cluster) {},
		"the taint is removed again and again": func(c *cluster) {
			c.client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
			c.taint()
		},
		"another client's taint is of the future": func(c *cluster) {
			later := metav1.NewTime(time.Now().Add(time.Hour))
			c.taint(v1.Taint{Key: v1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute, TimeAdded: &later})
		},
	} {
		t.Run(name, func(t *testing.T) {
			detaching(t, &fakeFleet{}, func(c *cluster) {
				prepare(c)
				c.pass(detachTimeout - time.Second)
				c.node("node-1")
				c.pass(time.Second + monitorEvery)
				c.wantOutOfService("after a minute", "deleted")
			})
		})
	}
}

// TestARestartDoesNotDelayADeletion: the minute for the volumes begins with the taint.
func TestARestartDoesNotDelayADeletion(t *testing.T) {
	detaching(t, &fakeFleet{}, func(c *cluster) {
		c.pass(detachTimeout - 10*time.Second)
		c.stop()
		c.fleet.become(stateOf("east"), stateOf("west"))
		c.start()
		c.wantOutOfService("after the restart", nodeinfo.VMGone)
		c.pass(15 * time.Second)
		c.wantOutOfService("after a minute", "deleted")
	})
}

// TestAWrongTaintIsRemovedAtOnce, as when a kubelet registers its Node with it.
func TestAWrongTaintIsRemovedAtOnce(t *testing.T) {
	returned(t, &fakeFleet{}, func(c *cluster) {
		c.pass(90 * time.Second) // an equal patch is not repeated within half a minute
		c.taint(v1.Taint{Key: v1.TaintNodeOutOfService, Value: nodeinfo.VMGone, Effect: v1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: time.Now()}})
		c.pass(time.Second)
		c.wantOutOfService("while the VM exists", "")
	})
}

// TestTheTaintCannotBeWritten: rejected writes are repeated with backoff, and the Node is deleted nevertheless.
func TestTheTaintCannotBeWritten(t *testing.T) {
	writes := 0
	fleet := &fakeFleet{}
	fleet.confirm = nobody
	detachingAfter(t, fleet, func(c *cluster) {
		c.client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if !strings.Contains(string(a.(clienttesting.PatchAction).GetPatch()), nodeinfo.VMGone) {
				return false, nil, nil
			}
			writes++
			return true, nil, apierrors.NewForbidden(v1.Resource("nodes"), "node-1", errors.New("no permission"))
		})
	}, func(c *cluster) {
		c.pass(detachTimeout - time.Second)
		c.wantOutOfService("before a minute", "")
		if writes < 3 || writes > 12 {
			t.Errorf("%d writes in a minute, want a few", writes)
		}
		c.pass(time.Second + monitorEvery)
		c.wantOutOfService("after a minute", "deleted")
		c.wantTaintEvents()
	})
}

// detachingAfter is detaching with a preparation before the VM vanishes.
func detachingAfter(t *testing.T, fleet *fakeFleet, prepare, test func(*cluster)) {
	t.Helper()
	returned(t, fleet, func(c *cluster) {
		prepare(c)
		c.settle()
		fleet.become(stateOf("east"), stateOf("west"))
		c.settle()
		test(c)
	})
}

// returned is detaching after the VM is found again.
func returned(t *testing.T, fleet *fakeFleet, test func(*cluster)) {
	t.Helper()
	detaching(t, fleet, func(c *cluster) {
		c.show(newVM(uuidA))
		c.wantOutOfService("with the VM again", "")
		c.client.ClearActions()
		test(c)
	})
}

// TestAContradictionRemovesTheTaint: the Node stays, and a later absence begins anew.
func TestAContradictionRemovesTheTaint(t *testing.T) {
	unconfirmed := func(err error) func(*cluster) {
		return func(c *cluster) {
			c.fleet.mu.Lock()
			c.fleet.confirm = func(context.Context, inventory.Identity) error { return err }
			c.fleet.mu.Unlock()
			c.pass(15 * time.Second)
		}
	}
	becomes := func(states ...inventory.State) func(*cluster) {
		return func(c *cluster) { c.fleet.become(states...) }
	}
	confirmed := func(c *cluster) {
		c.fleet.mu.Lock()
		c.fleet.confirm = nobody
		c.fleet.mu.Unlock()
	}
	for name, test := range map[string]struct {
		change func(*cluster)
		cause  string
	}{
		"the VM is registered again":   {becomes(stateOf("east", newVM(uuidA, withID("vm-9"))), stateOf("west")), `the VM exists: VM /dc1/vm/node-1 of vCenter "east"`},
		"the VM is in another vCenter": {becomes(stateOf("east"), stateOf("west", newVM(uuidA, withID("vm-9")))), `the VM exists: VM /dc1/vm/node-1 of vCenter "west"`},
		"its VM is off":                {becomes(stateOf("east", newVM(uuidA, withID("vm-9"), withPower(inventory.PowerOff))), stateOf("west")), "the VM exists"},
		"a vCenter fails":              {becomes(stateOf("east"), failing(stateOf("west"))), "connection refused"},
		"a datacenter is hidden":       {becomes(stateOf("east"), incomplete(stateOf("west"))), "cannot be listed"},
		"a VM is unreadable":           {becomes(stateOf("east"), unreadable("west", "", time.Now().Add(time.Hour))), "cannot be read"},
		"the VM is outside":            {becomes(outside(newVM(uuidA)), stateOf("west")), "in none of the configured datacenters"},
		"a search finds it":            {unconfirmed(errors.New(`vCenter "west" has it`)), `vCenter "west" has it`},
		"a search fails":               {unconfirmed(fmt.Errorf("%w: refused", topology.ErrUnknown)), "the absence of the VM is not confirmed"},
		"its vCenter is removed":       {becomes(stateOf("west")), "is not in the configuration"},
		"the Node is not ready":        {func(c *cluster) { c.report(v1.ConditionFalse) }, "the kubelet reports"},
		"the Node is ready":            {func(c *cluster) { c.heartbeat("node-1") }, "the Node is ready"},
		"never":                        {func(c *cluster) { c.apply(func(cfg *config.Config) { cfg.OutOfService = config.OutOfServiceNever }) }, "the key nodes.outOfService is set to never"},
		"skipDeletion":                 {func(c *cluster) { c.apply(func(cfg *config.Config) { cfg.SkipNodeDeletion = true }) }, "nodes.skipDeletion"},
		"selector": {func(c *cluster) {
			c.apply(func(cfg *config.Config) { cfg.NodeSelector = labels.SelectorFromSet(labels.Set{"ours": "yes"}) })
		}, "nodes.selector excludes the Node"},
	} {
		t.Run(name, func(t *testing.T) {
			detaching(t, &fakeFleet{}, func(c *cluster) {
				c.wantOutOfService("at first", nodeinfo.VMGone)
				c.pass(detachTimeout / 2)
				test.change(c)
				if name == "never" || name == "the Node is not ready" {
					c.settle()
					c.wantTaintEvents(taintAdded, taintRemoved+" "+test.cause)
					c.pass(monitorEvery)
					c.wantOutOfService("as without the key", "deleted")
					return
				}
				c.pass(monitorEvery)
				c.wantOutOfService("after the contradiction", "")
				c.wantTaintEvents(taintAdded, taintRemoved+" "+test.cause)
				c.pass(2 * detachTimeout)
				c.wantOutOfService("later", "")

				confirmed(c)
				c.report(v1.ConditionUnknown)
				c.apply(func(*config.Config) {})
				c.fleet.become(stateOf("east"), stateOf("west"))
				c.pass(time.Minute - time.Second) // a failed search is repeated within half a minute
				if name == "selector" {
					// The daemon has forgotten that it saw the VM end.
					c.wantOutOfService("after the Node is selected again", "deleted")
					return
				}
				c.wantOutOfService("after it is gone again", nodeinfo.VMGone)
				c.detach()
				c.pass(monitorEvery)
				c.wantOutOfService("without volumes", "deleted")
			})
		})
	}
}

// TestMissingFactsKeepTheTaint: a new leader that has not read the vCenters continues where the former one stopped.
func TestMissingFactsKeepTheTaint(t *testing.T) {
	unread := func(vcenter string) inventory.State { return inventory.State{VCenter: vcenter} }
	pending := stateOf("west")
	pending.Err = errPending
	pending.Cause = inventory.CausePending
	held := topology.Errorf(topology.ErrUnknown, "vCenter %q: %w", "east", inventory.ErrHeld)
	for name, test := range map[string]struct {
		restarts bool
		states   states
		confirm  error
		want     string
	}{
		"a restart":                        {true, states{stateOf("east"), stateOf("west")}, nil, nodeinfo.VMGone},
		"a restart, nothing is read":       {true, states{unread("east"), unread("west")}, nil, nodeinfo.VMGone},
		"a restart, one is read":           {true, states{stateOf("east"), unread("west")}, nil, nodeinfo.VMGone},
		"a restart, the hold":              {true, states{stateOf("east"), stateOf("west")}, held, nodeinfo.VMGone},
		"one is about to be read again":    {false, states{stateOf("east"), pending}, nil, nodeinfo.VMGone},
		"a restart, one is overdue":        {true, states{stateOf("east"), {VCenter: "west", Overdue: true}}, nil, ""},
		"a restart, one fails":             {true, states{unread("east"), failing(unread("west"))}, nil, ""},
		"a restart, the VM is there":       {true, states{stateOf("east", newVM(uuidA)), unread("west")}, nil, ""},
		"a restart, the hold, and a fault": {true, states{stateOf("east"), stateOf("west")}, topology.Errorf(topology.ErrUnknown, "refused"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			detaching(t, &fakeFleet{}, func(c *cluster) {
				c.wantOutOfService("at first", nodeinfo.VMGone)
				if test.restarts {
					c.stop()
				}
				c.fleet.mu.Lock()
				if test.confirm != nil {
					c.fleet.confirm = func(context.Context, inventory.Identity) error { return test.confirm }
				}
				c.fleet.mu.Unlock()
				c.fleet.become(test.states...)
				if test.restarts {
					c.start()
				}
				c.pass(detachTimeout / 2)
				c.wantOutOfService("meanwhile", test.want)
				if test.want == "" {
					return
				}
				c.fleet.mu.Lock()
				c.fleet.confirm = nobody
				c.fleet.mu.Unlock()
				c.fleet.become(stateOf("east"), stateOf("west"))
				c.pass(detachTimeout / 2)
				c.pass(time.Minute)
				c.wantOutOfService("at last", "deleted")
				c.wantTaintEvents(taintAdded)
			})
		})
	}
}

// TestAnotherClientsTaint is neither replaced nor removed, and counts as the taint.
func TestAnotherClientsTaint(t *testing.T) {
	for _, anothers := range []v1.Taint{
		{Key: v1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeOutOfService, Value: nodeinfo.VMGone, Effect: v1.TaintEffectNoSchedule},
	} {
		t.Run(anothers.ToString(), func(t *testing.T) {
			fleet := &fakeFleet{}
			detachingAfter(t, fleet, func(c *cluster) { c.taint(anothers) }, func(c *cluster) {
				c.pass(detachTimeout / 2)
				c.wantOutOfService("while the VM is gone", anothers.Value)
				c.show(newVM(uuidA))
				c.pass(time.Minute)
				c.wantOutOfService("while the VM exists", anothers.Value)
				fleet.become(stateOf("east"), stateOf("west"))
				c.detach()
				c.pass(2 * monitorEvery)
				c.wantOutOfService("while the VM is gone, without volumes", "deleted")
				c.wantTaintEvents()
			})
		})
	}
}

// TestOtherTaintsStay, because a patch replaces the whole list.
func TestOtherTaintsStay(t *testing.T) {
	other := v1.Taint{Key: "example.com/a", Value: "b", Effect: v1.TaintEffectNoExecute}
	fleet := &fakeFleet{}
	detachingAfter(t, fleet, func(c *cluster) { c.taint(other) }, func(c *cluster) {
		if got := c.node("node-1").Spec.Taints; len(got) != 2 || got[0] != other || !nodeinfo.IsVMGone(got[1]) {
			t.Errorf("taints %+v, want %+v and the out-of-service taint", got, other)
		}
		fleet.become(stateOf("east", newVM(uuidA)), stateOf("west"))
		c.pass(time.Second)
		if got := c.node("node-1").Spec.Taints; !slices.Equal(got, []v1.Taint{other}) {
			t.Errorf("taints %+v, want %+v", got, other)
		}
	})
}

// TestNoTaintWithoutAWitness: the daemon did not see the VM end on a connected host, so the VM may run although no vCenter
// has it. Its Node is deleted as without the key, without a taint.
func TestNoTaintWithoutAWitness(t *testing.T) {
	isGone := func(c *cluster) { c.fleet.become(stateOf("east"), stateOf("west")) }
	for name, end := range map[string]func(*cluster){
		"its host was disconnected": func(c *cluster) { c.show(newVM(uuidA, withPower(inventory.PowerUnknown))); isGone(c) },
		"its host was disconnected, and the daemon restarted": func(c *cluster) {
			c.show(newVM(uuidA, withPower(inventory.PowerUnknown)))
			c.stop()
			isGone(c)
			c.start()
		},
		"it was unreadable": func(c *cluster) {
			c.fleet.become(unreadable("east", uuidA, time.Time{}), stateOf("west"))
			c.pass(time.Second)
			isGone(c)
		},
		"it ended before the daemon started": func(c *cluster) { c.stop(); isGone(c); c.start() },
		"it ended while its vCenter was not watched": func(c *cluster) {
			c.fleet.become(failing(stateOf("east")), stateOf("west"))
			c.pass(time.Second)
			again := stateOf("east")
			again.WatchedSince = time.Now()
			c.fleet.become(again, stateOf("west"))
		},
		"its managed object is another VM": func(c *cluster) {
			east := stateOf("east")
			east.Snapshot.Homes["vm-1"] = inventory.Different
			c.fleet.become(east, stateOf("west"))
		},
		"the Node is not ready, but its kubelet reports": func(c *cluster) { c.report(v1.ConditionFalse); isGone(c) },
		"the Node outlived it": func(c *cluster) {
			c.report(v1.ConditionTrue)
			isGone(c)
			c.pass(10 * time.Minute)
			c.report(v1.ConditionUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			returned(t, &fakeFleet{}, func(c *cluster) {
				end(c)
				c.pass(2 * monitorEvery)
				c.wantOutOfService("after the end", "deleted")
				c.wantTaintEvents()
			})
		})
	}
}

// TestATaintWithAWitness: an outage of another vCenter and a brief success of the kubelet do not hide the end of the VM.
func TestATaintWithAWitness(t *testing.T) {
	for name, end := range map[string]func(*cluster){
		"another vCenter was not watched": func(c *cluster) {
			c.fleet.become(stateOf("east"), failing(stateOf("west")))
			c.pass(time.Minute)
			west := stateOf("west")
			west.WatchedSince = time.Now()
			c.fleet.become(stateOf("east"), west)
		},
		"the Node became not ready after it": func(c *cluster) {
			c.report(v1.ConditionTrue)
			c.fleet.become(stateOf("east"), stateOf("west"))
			c.pass(50 * time.Second)
			c.report(v1.ConditionFalse)
			c.pass(time.Second)
			c.report(v1.ConditionUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			returned(t, &fakeFleet{}, func(c *cluster) {
				end(c)
				c.pass(monitorEvery)
				c.wantOutOfService("after the end", nodeinfo.VMGone)
				c.detach()
				c.pass(monitorEvery)
				c.wantOutOfService("without volumes", "deleted")
			})
		})
	}
}

// TestNoTaintForOthers: Nodes that are never deleted are never tainted.
func TestNoTaintForOthers(t *testing.T) {
	for name, node := range map[string]*v1.Node{
		"ready":              running(),
		"never found":        aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, silent),
		"no provider ID":     aNode("node-1", withSystemUUID(uuidA), untainted, silent, func(n *v1.Node) { annotate(n, nodeinfo.KeyVM, "east/vm-1") }),
		"joining":            aNode("node-1", withSystemUUID(uuidA), silent),
		"another provider's": aNode("node-1", withProviderID(foreignID), untainted, silent),
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, &fakeFleet{confirm: nobody, states: states{stateOf("east"), stateOf("west")}}, func(c *cluster) {
				c.apply(func(*config.Config) {})
				c.pass(time.Hour)
				c.wantOutOfService("ever", "")
			}, attached(node))
		})
	}
}

func withID(id string) func(*inventory.VM) { return func(m *inventory.VM) { m.Ref.ID = id } }
