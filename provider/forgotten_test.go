package provider

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNothingIsLeftOfNodesThatAreGone: after 10,000 short-lived Nodes, each with every kind of answer and a search, the heap
// is as large as after the first thousand.
func TestNothingIsLeftOfNodesThatAreGone(t *testing.T) {
	const (
		batches, inBatch = 10, 1000
		// inWatch is less than the capacity of the fake API server's watches.
		inWatch = 50
		// growth is a third of the size of the records.
		growth = (batches - 1) * inBatch * 500
	)
	fleet := &fakeFleet{confirm: nobody, states: states{stateOf("east", newVM(uuidA))}}
	alone(t, fleet, func(c *cluster) {
		heap := func() uint64 {
			// Until then the queue contains Nodes with a delayed sync.
			c.pass(2 * time.Minute)
			c.fleet.mu.Lock()
			c.fleet.follows = nil
			c.fleet.mu.Unlock()
			c.client.ClearActions()
			var m runtime.MemStats
			runtime.GC()
			runtime.GC() // finalizers have run
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		var first uint64
		for batch := range batches {
			var nodes []*v1.Node
			for i := range inBatch {
				uuid := fmt.Sprintf("vsphere://422e4956-ad22-1139-6d72-%06d%06d", batch, i)
				n := aNode(fmt.Sprintf("n-%d-%d", batch, i), withProviderID(uuid), untainted, withRecord("east/vm-7"), silent)
				if i == 0 {
					n = aNode(n.Name, withSystemUUID(uuidA))
				}
				if err := c.client.Tracker().Add(n); err != nil {
					c.Fatal(err)
				}
				nodes = append(nodes, n)
				if i%inWatch == 0 {
					c.settle()
				}
			}
			c.pass(time.Second)
			for _, n := range nodes {
				// The answers do not matter.
				_, _ = c.provider.InstanceMetadata(c.ctx, n)
				_, _ = c.provider.InstanceExists(c.ctx, n)
				_, _ = c.provider.InstanceShutdown(c.ctx, n)
			}
			if !c.isKnown(nodes[0].UID) {
				c.Fatal("nothing is known of a Node that is there")
			}
			for i, n := range nodes {
				if err := c.client.CoreV1().Nodes().Delete(c.ctx, n.Name, metav1.DeleteOptions{}); err != nil {
					c.Fatal(err)
				}
				if i%inWatch == 0 {
					c.settle()
				}
			}
			c.pass(time.Second)
			for _, n := range nodes {
				if c.isKnown(n.UID) {
					c.Fatalf("something is kept of Node %s, which is gone", n.Name)
				}
			}
			if batch == 0 {
				first = heap()
			}
		}
		if last := heap(); last > first+growth {
			t.Errorf("the heap has %d bytes after %d Nodes and %d bytes after %d", first, inBatch, last, batches*inBatch)
		}
	})
}
