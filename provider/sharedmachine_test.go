package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// madeAt is a Node that the API server made so many minutes after another one.
func madeAt(minutes int) func(*v1.Node) {
	return func(n *v1.Node) {
		n.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 22, 4, minutes, 0, 0, time.UTC))
	}
}

// runs makes a Node an initialized one of machine A.
func runs(n *v1.Node) { n.Spec.ProviderID, n.Spec.Taints = "vsphere://"+uuidA, nil }

// claiming is a Node that says that its machine was found as the ghost of vCenter east,
// which claimed adds to its state: one whose configuration cannot be read.
func claiming(n *v1.Node) { n.Annotations = map[string]string{nodeinfo.KeyMachine: "east/" + ghost} }

func claimed(s inventory.State) inventory.State {
	s.Snapshot.Recorded = map[string]inventory.Entry{ghost: {ID: ghost, Unreadable: true}}
	return s
}

// TestWhichOfTwoNodesIsFirst: of Nodes that are there when the daemon starts.
func TestWhichOfTwoNodesIsFirst(t *testing.T) {
	swapped := mustUUID(uuidA).Swapped().String()
	there := states{stateOf("east", machine(uuidA))}
	for _, c := range []struct {
		name      string
		states    states
		one, two  []func(*v1.Node)
		waits     string // which of them waits for the other, if any
		complains string // which are said to be of one machine
	}{
		{"both new", there, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"both new, made at one time", there, []func(*v1.Node){withSystemUUID(uuidA)}, []func(*v1.Node){withSystemUUID(uuidA)}, "two", "two"},
		{"in two byte orders", there, []func(*v1.Node){withSystemUUID(swapped), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"by provider ID and by UUID", there, []func(*v1.Node){withProviderID("vsphere://" + uuidA), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one was initialized and made later", there, []func(*v1.Node){runs, labeled(map[string]string{nodeinfo.KeyInitialized: "true"}), madeAt(2)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, "two", "one two"},
		{"one runs, as its kubelet registered it, and was made later", there, []func(*v1.Node){runs, func(n *v1.Node) { n.Annotations = map[string]string{nodeinfo.KeyMachine: "east/vm-1"} }, madeAt(2)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, "", "one"},
		{"both run", there, []func(*v1.Node){runs, madeAt(2)}, []func(*v1.Node){runs, madeAt(1)}, "", "one two"},
		{"one runs without a provider ID and was made later", there, []func(*v1.Node){untainted, withSystemUUID(uuidA), madeAt(2)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, "", "one"},
		{"one is another provider's", there, []func(*v1.Node){withProviderID("other://1"), withSystemUUID(uuidA), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one contradicts itself", there, []func(*v1.Node){withProviderID("vsphere://" + uuidA), withSystemUUID(uuidB), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one claims another machine, which cannot be read", states{claimed(stateOf("east", machine(uuidA)))},
			[]func(*v1.Node){withProviderID("vsphere://" + uuidA), claiming, madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one claims a machine of another vCenter, which cannot be read", states{stateOf("west", machine(uuidA)), claimed(stateOf("east"))},
			[]func(*v1.Node){withProviderID("vsphere://" + uuidA), claiming, madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one runs and claims another machine", states{claimed(stateOf("east", machine(uuidA)))},
			[]func(*v1.Node){runs, claiming, madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one runs and contradicts itself", there, []func(*v1.Node){runs, withSystemUUID(uuidB), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one by name", states{stateOf("east", machine(uuidA, func(m *inventory.Machine) { m.HostName = "one" }))}, []func(*v1.Node){madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one by name and later", states{stateOf("east", machine(uuidA, func(m *inventory.Machine) { m.HostName = "two" }))}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, []func(*v1.Node){madeAt(2)}, "two", "two"},
		{"of the two forms of a UUID each is a machine's", states{stateOf("east", machine(uuidA), machine(swapped, withPower(inventory.PowerOff)))},
			[]func(*v1.Node){withProviderID("vsphere://" + swapped), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"two machines", states{stateOf("east", machine(uuidA), machine(uuidB))}, []func(*v1.Node){withSystemUUID(uuidB), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, two := aNode("one", c.one...), aNode("two", c.two...)
			alone(t, &fakeFleet{states: c.states}, func(cl *cluster) {
				cl.pass(delayRunning + 2*time.Second)
				for _, name := range []string{"one", "two"} {
					n := cl.node(name)
					if _, err := cl.provider.placer.Join(n); nodeinfo.IsUninitialized(n) && errors.Is(err, placement.ErrShared) != (name == c.waits) {
						t.Errorf("%s: %v", name, err)
					}
					told := slices.Contains(cl.events(), name+" MachineOfTwoNodes")
					if told != strings.Contains(c.complains, name) {
						t.Errorf("%s: Events %q", name, cl.events())
					}
				}
				if got := cl.outcomes()["machine_of_two_nodes"]; got != len(strings.Fields(c.complains)) {
					t.Errorf("outcomes %v", cl.outcomes())
				}
			}, two, one)
		})
	}
}

// TestTheLaterOfTwoRunningNodesKeepsWhatItHas: its labels and addresses are not written,
// its machine's existence and power are told as ever, and it goes on when it is alone.
func TestTheLaterOfTwoRunningNodesKeepsWhatItHas(t *testing.T) {
	off := &fakeFleet{states: states{stateOf("east", machine(uuidA, withPower(inventory.PowerOff)))}}
	first, later := aNode("first", runs, madeAt(1)), aNode("later", runs, madeAt(2))
	alone(t, off, func(c *cluster) {
		for _, n := range []*v1.Node{first, later} {
			if down, err := c.provider.InstanceShutdown(c.ctx, n); !down || err != nil {
				t.Errorf("%s is shut down: %v, %v", n.Name, down, err)
			}
			if exists, err := c.provider.InstanceExists(c.ctx, n); !exists || err != nil {
				t.Errorf("%s exists: %v, %v", n.Name, exists, err)
			}
		}
		c.fleet.become(stateOf("east", machine(uuidA, in("east", "b"))))
		c.settle()
		if place := c.provider.placer.Decide(first); place.PlaceErr != nil || place.Machine == nil || c.machine(first) != nil { // it is looked at again whenever something changes
			t.Errorf("the first one: %v, %v", place.Machine, place.PlaceErr)
		}
		if place := c.provider.placer.Decide(later); !errors.Is(place.PlaceErr, placement.ErrShared) || place.Machine != nil || c.machine(later) != nil {
			t.Errorf("the later one: %v, %v", place.Machine, place.PlaceErr)
		}
		if m, err := c.provider.InstanceMetadata(c.ctx, later); err != nil || m == nil || len(m.NodeAddresses) > 0 {
			t.Errorf("the later one gets %+v, %v", m, err)
		}
		if m, err := c.provider.InstanceMetadata(c.ctx, first); err != nil || len(m.NodeAddresses) == 0 {
			t.Errorf("the first one gets %+v, %v", m, err)
		}
		probed := len(c.fleet.probed())
		c.delete("first")
		c.pass(time.Second)
		if place := c.provider.placer.Decide(later); place.PlaceErr != nil || place.Machine == nil {
			t.Errorf("the later one alone: %v, %v", place.Machine, place.PlaceErr)
		}
		if len(c.fleet.probed()) == probed {
			t.Error("nobody looks at its labels again")
		}
	}, first, later)
}

// TestWhatComesInitializedIsNotFirst: a kubelet registers its Node without the taint and
// with another Node's provider ID, at once or later, while the daemon runs. The other one
// goes on.
func TestWhatComesInitializedIsNotFirst(t *testing.T) {
	for name, forge := range map[string]func(*cluster){
		"at once": func(c *cluster) { c.create(aNode("forger", runs, madeAt(2))) },
		"later": func(c *cluster) {
			c.create(aNode("forger", untainted, madeAt(2)))
			c.pass(time.Second)
			if _, err := c.client.CoreV1().Nodes().Update(c.ctx, aNode("forger", runs, madeAt(2)), metav1.UpdateOptions{}); err != nil {
				c.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeFleet{states: states{stateOf("east", machine(uuidA, in("east", "")))}} // no zone yet
			withFramework(t, f, func(c *cluster) {
				c.create(aNode("honest", withSystemUUID(uuidA), madeAt(1)))
				c.pass(time.Second)
				forge(c)
				c.pass(time.Second)
				f.become(stateOf("east", machine(uuidA)))
				c.settle()
				if nodeinfo.IsUninitialized(c.node("honest")) {
					t.Error("the honest Node waits")
				}
				if err := c.provider.placer.Decide(c.node("forger")).PlaceErr; !errors.Is(err, placement.ErrShared) {
					t.Errorf("the forger's place: %v", err)
				}
				c.delete("forger")
				c.pass(time.Second)
			})
		})
	}
}

// TestManyNodesOfOneMachine: an Event stays short.
func TestManyNodesOfOneMachine(t *testing.T) {
	nodes := []*v1.Node{aNode("n-0", runs)}
	for i := range 100 {
		nodes = append(nodes, aNode(fmt.Sprintf("n-%d", i+1), withSystemUUID(uuidA), madeAt(1)))
	}
	alone(t, &fakeFleet{states: states{stateOf("east", machine(uuidA, func(m *inventory.Machine) { m.InventoryPath = "/dc/vm/" + strings.Repeat("a b", 1000) }))}}, func(c *cluster) {
		for _, name := range []string{"n-0", "n-99"} {
			err := c.provider.placer.Decide(c.node(name)).Err
			if !errors.Is(err, placement.ErrShared) || len(err.Error()) > 700 || !strings.Contains(err.Error(), " more, which came ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}, nodes...)
}

// TestWithoutMatchingByName: a Node without a UUID waits and is reported, whatever else has
// none is left alone, and nobody looks for names.
func TestWithoutMatchingByName(t *testing.T) {
	f := &fakeFleet{states: states{stateOf("east", machine(uuidA))}}
	withFramework(t, f, func(c *cluster) {
		cfg := testConfig()
		cfg.MatchByName = false
		c.provider.Apply(cfg)
		c.fleet.become()
		c.create(aNode("node-1"))
		c.create(aNode("metal", untainted))
		c.pass(delayRunning + time.Second)
		c.wantEvents("node-1 SystemUUIDMissing")
		if got := c.outcomes(); got["system_uuid_missing"] != 1 || got[report.Foreign] != 1 {
			t.Errorf("outcomes %v", got)
		}
		if m, err := c.provider.InstanceMetadata(c.ctx, c.node("metal")); err != nil || m == nil || m.ProviderID != "" {
			t.Errorf("the other one gets %+v, %v", m, err)
		}
		for _, ids := range f.followed() {
			if len(ids) > 0 {
				t.Errorf("followed %v", ids)
			}
		}
		c.provider.Apply(testConfig())
		c.fleet.become()
		c.settle()
		if nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("it waits with matching by name")
		}
	})
}

// TestBareMetalIsNotFoundByName: a Node that waits for nothing and has neither a UUID nor a
// provider ID gets no label, address or taint of a machine whose guest reports its name.
func TestBareMetalIsNotFoundByName(t *testing.T) {
	f := &fakeFleet{states: states{stateOf("east", machine(uuidA, func(m *inventory.Machine) { m.HostName = "metal" }))}}
	withFramework(t, f, func(c *cluster) {
		c.create(aNode("metal", untainted))
		c.create(aNode("vm", withSystemUUID(uuidA)))
		c.pass(delayRunning + time.Second)
		metal := c.node("metal")
		if place := c.provider.placer.Decide(metal); place.Machine != nil || !errors.Is(place.PlaceErr, nodeinfo.ErrNoUUID) {
			t.Errorf("it has machine %+v, %v", place.Machine, place.PlaceErr)
		}
		if m, err := c.provider.InstanceMetadata(c.ctx, metal); err != nil || m == nil || len(m.NodeAddresses) > 0 || m.ProviderID != "" {
			t.Errorf("it gets %+v, %v", m, err)
		}
		if down, err := c.provider.placer.IsShutDown(metal); down || err == nil {
			t.Errorf("it is shut down: %v, %v", down, err)
		}
		if got := c.outcomes()[report.Foreign]; got != 1 {
			t.Errorf("outcomes %v", c.outcomes())
		}
		if nodeinfo.IsUninitialized(c.node("vm")) {
			t.Error("it keeps the machine's own Node waiting")
		}
		c.wantEvents()
	})
}

func (c *cluster) delete(name string) {
	c.Helper()
	if err := c.client.CoreV1().Nodes().Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}
