package provider

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// whatever order they come, and what is known of Nodes that are gone goes too.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := provide(states{stateOf("east")})
		told := newTeller(p.fleet, nil)
		w := &rounds{provider: p, teller: told, records: &records{}, nodes: map[types.UID]*attended{}}
		early, late := aNode("early", withSystemUUID(uuidA)), aNode("late", withSystemUUID(uuidB))
		started := time.Now()
		due := func(next <-chan time.Time, want time.Duration) {
			t.Helper()
			<-next
			if got := time.Since(started); got != want {
				t.Errorf("due after %v, want %v", got, want)
			}
		}

		w.look([]*v1.Node{early})
		time.Sleep(patience / 4)
		due(w.look([]*v1.Node{late, early}), patience)
		due(w.look([]*v1.Node{late, early}), patience*5/4)
		if n := len(told.queue); n != 1 {
			t.Errorf("%d Events, want one for the first Node", n)
		}
		if next := w.look([]*v1.Node{late, early}); next != nil || len(told.queue) != 2 {
			t.Errorf("%d Events, and another look is due: %v", len(told.queue), next != nil)
		}
		if w.look([]*v1.Node{late}); len(w.nodes) != 1 {
			t.Errorf("%d Nodes are remembered, want 1", len(w.nodes))
		}
	})
}

func TestFollow(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east")}}
	alone(t, fleet, func(c *cluster) {
		before := len(fleet.followed())
		want := map[string]bool{"UUID " + uuidA: true} // the Node that was there
		for i := range 10 {
			uuid := fmt.Sprintf("422e4956-ad22-1139-6d72-0000000000%02d", i+10)
			c.create(aNode(fmt.Sprint("node-", i), withSystemUUID(uuid)))
			want[fmt.Sprintf("UUID %s or %s", uuid, mustUUID(uuid).Swapped())] = true
		}
		c.create(aNode("nameless"))
		want[`name "nameless"`] = true
		c.create(aNode("foreign", withProviderID(foreignID), withSystemUUID(uuidB)))
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

		// Heartbeats are not even looked into.
		c.pass(gather) // the burst's last token
		asked := fleet.timesAsked()
		for range 10 {
			c.heartbeat("node-1")
			c.pass(gather)
		}
		if n := fleet.timesAsked(); n != asked || len(fleet.followed()) != before+1 {
			t.Errorf("heartbeats made %d looks and %d requests", n-asked, len(fleet.followed())-before-1)
		}

		if err := c.client.CoreV1().Nodes().Delete(c.ctx, "node-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.pass(gather)
		if follows := fleet.followed(); len(follows) != before+2 || len(follows[before+1]) != len(want)-1 {
			t.Errorf("a Node that goes made %d requests, the last %v", len(follows)-before-1, follows[len(follows)-1])
		}
	}, aNode("old", withProviderID("vsphere://"+uuidA), untainted))
}

func TestRelevantChanges(t *testing.T) {
	node := aNode("node-1", withSystemUUID(uuidA))
	changed := func(change func(*v1.Node)) *v1.Node {
		n := node.DeepCopy()
		change(n)
		return n
	}
	for name, c := range map[string]struct {
		now  any
		want bool
	}{
		"a heartbeat":       {changed(func(n *v1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }), false},
		"not ready":         {changed(silent), true},
		"labels":            {changed(func(n *v1.Node) { n.Labels = map[string]string{"a": "b"} }), false},
		"another taint":     {changed(func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "b"}) }), false},
		"the taint goes":    {changed(untainted), true},
		"provider ID":       {changed(withProviderID("vsphere://" + uuidA)), true},
		"system UUID":       {changed(withSystemUUID(uuidB)), true},
		"another Node":      {changed(func(n *v1.Node) { n.UID = "another" }), true},
		"something unknown": {cache.DeletedFinalStateUnknown{Key: "node-1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := provide(nil)
			token := make(chan struct{}, 1)
			p.onRelevantChange(token).OnUpdate(node, c.now)
			if got := len(token) == 1; got != c.want {
				t.Errorf("relevant: %v", got)
			}
		})
	}
	p, _ := provide(nil)
	token := make(chan struct{}, 1)
	for range 3 { // a token that nobody has taken yet holds nobody up
		p.onRelevantChange(token).OnAdd(node, false)
		p.onRelevantChange(token).OnDelete(cache.DeletedFinalStateUnknown{Key: "node-1", Obj: node})
	}
	if len(token) != 1 {
		t.Error("Nodes that come or go are relevant")
	}
}

// TestRunEnds: the bubble fails if Run leaves a goroutine behind.
func TestRunEnds(t *testing.T) {
	t.Run("before the framework has begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p, _ := provide(nil)
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			select {
			case <-p.Started():
				t.Error("started")
			default:
			}
		})
	})
	t.Run("while the informer has not synced", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p, f := provide(nil)
			client := fake.NewClientset()
			p.Initialize(builder{client}, nil)
			p.SetInformers(informers.NewSharedInformerFactory(client, 0)) // never started
			<-p.Started()
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; err != nil || len(f.followed()) > 0 {
				t.Error(err, f.followed())
			}
		})
	})
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
