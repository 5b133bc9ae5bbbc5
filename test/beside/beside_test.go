package beside

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"

	"vzones/test/cluster"
	"vzones/test/stack"
)

var (
	seed       = flag.Uint64("beside.seed", 1, "the `seed` of the random events")
	eventCount = flag.Int("beside.events", 10000, "how many random events are played")
)

// TestNeitherTouchesTheOthersNodes: two cloud controller managers see all Nodes. Nodes of both providers, of either and of
// none join under changing names, and VMs, instances, kubelets, vCenters, the other cloud and both cloud controller
// managers stop and return. Each writes only to Nodes that have no provider ID or its own, and initializes only Nodes that
// it knows. In the end each Node has what its provider gives it, and nothing of the other.
func TestNeitherTouchesTheOthersNodes(t *testing.T) {
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	binary, err := stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The other provider's controllers need no log.
	klog.SetLogger(klog.Logger{})
	t.Logf("-beside.seed=%d -beside.events=%d", *seed, *eventCount)
	w := newWorld(t, binary, rand.New(rand.NewPCG(*seed, 5778)))
	for range *eventCount {
		w.event()
		if w.isFailed() {
			break
		}
	}
	w.settle()
	w.judge()
}
