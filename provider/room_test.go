package provider

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"vzones/provider/nodes"
)

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

// TestRunEnds: the bubble fails if Run leaves a goroutine behind.
func TestRunEnds(t *testing.T) {
	t.Run("before the framework has begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p, f := provide(nil)
			client := fake.NewClientset()
			done := make(chan error, 1)
			go func() { done <- nodes.New(f, p.placer, p.checker, client).Run(ctx) }()
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
			p.SetInformers(informers.NewSharedInformerFactory(client, 0)) // never started
			<-p.Started()
			done := make(chan error, 1)
			go func() { done <- nodes.New(f, p.placer, p.checker, client).Run(ctx) }()
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
