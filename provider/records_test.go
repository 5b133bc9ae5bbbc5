package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/vcenter/inventory"
)

// patched contains the fields of a location's patch.
type patched struct {
	Metadata struct {
		UID         types.UID
		Annotations map[string]string
	}
}

// recorded returns the patches of locations as "Node uid value".
func (c *cluster) recorded() []string {
	c.Helper()
	var out []string
	for _, a := range c.client.Actions() {
		p, ok := a.(clienttesting.PatchAction)
		if !ok || a.GetResource().Resource != "nodes" || a.GetSubresource() != "" {
			continue
		}
		var to patched
		if err := json.Unmarshal(p.GetPatch(), &to); err != nil || len(to.Metadata.Annotations) != 1 {
			c.Errorf("patched %s: %v", p.GetPatch(), err)
		}
		out = append(out, fmt.Sprintf("%s %s %s", p.GetName(), to.Metadata.UID, to.Metadata.Annotations[nodeinfo.KeyVM]))
	}
	return out
}

func (c *cluster) wantNoRecord() {
	c.Helper()
	if got := c.recorded(); len(got) > 0 {
		c.Errorf("recorded %q", got)
	}
}

// patches answers patches of Nodes. If nil, they succeed.
func (c *cluster) patches(answer func(name string, to patched) error) {
	c.client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchAction)
		var to patched
		if err := json.Unmarshal(p.GetPatch(), &to); err != nil {
			return true, nil, err
		}
		err := answer(p.GetName(), to)
		return err != nil, nil, err
	})
}

// withRecord sets the annotations and label of a Node that is the only one of its VM.
func withRecord(value string) func(*v1.Node) {
	return func(n *v1.Node) {
		initializedByUs(n)
		n.Annotations = map[string]string{nodeinfo.KeyVM: value}
	}
}

// TestNoRecord: nothing is recorded if the VM is uncertain or the Node is not ours.
func TestNoRecord(t *testing.T) {
	two := newVM(uuidB)
	held := stateOf("east", newVM(uuidA))
	u := mustUUID(uuidA)
	held.Snapshot.Index[u] = append(held.Snapshot.Index[u], inventory.Entry{ID: "vm-9", Unreadable: true})
	for name, c := range map[string]struct {
		states states
		node   *v1.Node
	}{
		"right already":              {states{stateOf("east", newVM(uuidA))}, aNode("n", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1"))},
		"waits":                      {states{stateOf("east", newVM(uuidA, in("east", "")))}, aNode("n", withSystemUUID(uuidA))},
		"another's":                  {states{stateOf("east", newVM(uuidA))}, aNode("n", withProviderID(foreignID), withSystemUUID(uuidA), untainted)},
		"ambiguous":                  {states{stateOf("east", two, two)}, aNode("n", withProviderID("vsphere://"+uuidB), untainted)},
		"absent":                     {states{stateOf("east")}, aNode("n", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-7"))},
		"in trouble":                 {states{failing(stateOf("east", newVM(uuidA)))}, aNode("n", withProviderID("vsphere://"+uuidA), untainted)},
		"the recorded one is unread": {states{held}, aNode("n", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-9"))},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, &fakeFleet{states: c.states}, func(cl *cluster) {
				cl.pass(3 * resyncEvery)
				cl.wantNoRecord()
			}, c.node)
		})
	}
}

// TestRecordOfANodeWithoutProviderID: it is written once, and marks the Node's VM as found before.
func TestRecordOfANodeWithoutProviderID(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}
	alone(t, fleet, func(c *cluster) {
		c.pass(3 * resyncEvery)
		if got, want := c.recorded(), []string{"n uid-n east/vm-1"}; !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}, aNode("n", withSystemUUID(uuidA), untainted))

	for name, change := range map[string]func(*v1.Node){"recorded": withRecord("east/vm-7"), "never found": func(*v1.Node) {}} {
		t.Run(name, func(t *testing.T) {
			want := []string{}
			if name == "recorded" {
				want = []string{"n VMNotFound"}
			}
			alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
				c.pass(2 * time.Minute)
				c.wantEvents(want...)
			}, aNode("n", withSystemUUID(uuidA), untainted, change))
		})
	}
}

// TestRecordsArePaced, while a cluster of new Nodes is initialized.
func TestRecordsArePaced(t *testing.T) {
	var vms []*inventory.VM
	var nodes []*v1.Node
	for i := range 100 {
		uuid := fmt.Sprintf("422e4956-ad22-1139-6d72-0000000001%02d", i)
		vms = append(vms, newVM(uuid))
		nodes = append(nodes, aNode(fmt.Sprint("node-", i), withProviderID("vsphere://"+uuid), untainted))
	}
	alone(t, &fakeFleet{states: states{stateOf("east", vms...)}}, func(c *cluster) {
		if n := len(c.recorded()); n < recordsPerSecond/2 || n > recordsPerSecond+1 {
			t.Errorf("%d in the first second", n)
		}
		c.pass(100 / recordsPerSecond * time.Second)
		if n := len(c.recorded()); n != 100 {
			t.Errorf("%d in all", n)
		}
	}, nodes...)
}

func TestRecordsAreRetried(t *testing.T) {
	alone(t, &fakeFleet{}, func(c *cluster) {
		var fails atomic.Bool
		fails.Store(true)
		c.patches(func(string, patched) error {
			if fails.Load() {
				return errors.New("the API server is not itself")
			}
			return nil
		})
		c.fleet.become(stateOf("east", newVM(uuidA)))
		c.pass(time.Hour)
		// From 1 s to 5 min apart.
		if n := len(c.recorded()); n < 15 || n > 25 {
			t.Errorf("tried %d times in an hour", n)
		}
		fails.Store(false)
		c.pass(5 * time.Minute)
		if got := c.node("node-1").Annotations[nodeinfo.KeyVM]; got != "east/vm-1" {
			t.Errorf("annotated %q", got)
		}
		c.client.ClearActions()
		c.pass(time.Hour)
		c.wantNoRecord()
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}

// TestNoRecordOnANodeMadeAnew: a new Node of the same name gets a record once its own VM is found.
func TestNoRecordOnANodeMadeAnew(t *testing.T) {
	alone(t, &fakeFleet{}, func(c *cluster) {
		var fails atomic.Bool
		fails.Store(true)
		c.patches(func(name string, to patched) error {
			switch {
			case fails.Load():
				return errors.New("the API server is not itself")
			case to.Metadata.UID != c.node(name).UID:
				// The API server rejects another UID like this.
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, name, nil)
			}
			return nil
		})
		c.fleet.become(stateOf("east", newVM(uuidA), newVM(uuidB)))
		// The write fails, and its retry is due later.
		c.pass(time.Second / 2)
		c.delete("node-1")
		recreated := aNode("node-1", withSystemUUID(uuidB))
		recreated.UID = "recreated"
		c.create(recreated)
		fails.Store(false)
		c.client.ClearActions()
		c.pass(10 * time.Minute)
		c.wantNoRecord()
		if got, ok := c.node("node-1").Annotations[nodeinfo.KeyVM]; ok {
			t.Errorf("annotated %q", got)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}

// TestRejectedRecords: an invalid write is not retried.
func TestRejectedRecords(t *testing.T) {
	alone(t, &fakeFleet{}, func(c *cluster) {
		c.patches(func(name string, _ patched) error {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, name, nil)
		})
		for range 60 {
			c.fleet.become(stateOf("east", newVM(uuidA)))
			c.pass(time.Second)
		}
		if n := len(c.recorded()); n < 1 || n > 3 {
			t.Errorf("tried %d times in a minute", n)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}

// TestRecordsAreFollowed: the fleet learns about new locations once, within a minute.
func TestRecordsAreFollowed(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}
	alone(t, fleet, func(c *cluster) {
		c.pass(10 * resyncEvery)
		follows := fleet.followed()
		if n := len(follows); n > 2 || follows[n-1][0].Recorded != nodeinfo.ParseLocation("east/vm-1") {
			t.Errorf("followed %+v", follows)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}

func TestFollow(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east")}}
	alone(t, fleet, func(c *cluster) {
		before := len(fleet.followed())
		want := map[string]bool{"UUID " + uuidA: true} // the existing Node
		for i := range 10 {
			uuid := fmt.Sprintf("422e4956-ad22-1139-6d72-0000000000%02d", i+10)
			c.create(aNode(fmt.Sprint("node-", i), withSystemUUID(uuid)))
			want[fmt.Sprintf("UUID %s or %s", uuid, mustUUID(uuid).Swapped())] = true
		}
		c.create(aNode("nameless"))
		want[`name "nameless"`] = true
		c.create(aNode("unmanaged", withProviderID(foreignID), withSystemUUID(uuidB)))
		c.create(aNode("broken", withProviderID("vsphere://x"), withSystemUUID(uuidB)))
		c.pass(gather)

		follows := fleet.followed()
		if len(follows) != before+1 {
			t.Fatalf("a burst of Nodes made %d requests, want 1", len(follows)-before)
		}
		got := map[string]bool{}
		for _, id := range follows[before] {
			got[id.String()] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("followed %v, want %v", got, want)
		}

		// Heartbeats are ignored.
		c.pass(gather) // the burst's last token
		asked := fleet.timesAsked()
		for range 10 {
			c.heartbeat("node-1")
			c.pass(gather)
		}
		if n := fleet.timesAsked(); n != asked || len(fleet.followed()) != before+1 {
			t.Errorf("heartbeats made %d looks and %d requests", n-asked, len(fleet.followed())-before-1)
		}

		c.delete("node-1")
		c.pass(gather)
		if follows := fleet.followed(); len(follows) != before+2 || len(follows[before+1]) != len(want)-1 {
			t.Errorf("a Node that goes made %d requests, the last %v", len(follows)-before-1, follows[len(follows)-1])
		}
	}, aNode("old", withProviderID("vsphere://"+uuidA), untainted))
}

// TestRunEnds: the bubble fails if Run leaves a goroutine behind.
func TestRunEnds(t *testing.T) {
	for name, begun := range map[string]bool{"before the framework has begun": false, "while the informer has not synced": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				p, f := provide(nil)
				client := fake.NewClientset()
				if begun {
					p.SetInformers(informers.NewSharedInformerFactory(client, 0)) // never started
				}
				done := make(chan error, 1)
				go func() { done <- nodes.New(f, p.store, p.checker, client).Run(ctx) }()
				synctest.Wait()
				cancel()
				if err := <-done; err != nil || len(f.followed()) > 0 {
					t.Error(err, f.followed())
				}
				select {
				case <-p.Started():
					if !begun {
						t.Error("started")
					}
				default:
					if begun {
						t.Error("not started")
					}
				}
			})
		})
	}
	t.Run("while Nodes wait and are gathered", func(t *testing.T) {
		alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
			c.create(aNode("node-2", withSystemUUID(uuidB)))
			c.settle()
			now := time.Now()
			c.stop()
			if passed := time.Since(now); passed > 0 {
				t.Errorf("it took %v", passed)
			}
		}, aNode("node-1", withSystemUUID(uuidA)))
	})
}
