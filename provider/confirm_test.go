package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// asked calls InstanceExists for a Node that is not ready, again after a search if one is needed.
func asked(t *testing.T, p *Provider, f Fleet, node *v1.Node) (exists bool, err error) {
	t.Helper()
	node = node.DeepCopy()
	silent(node)
	synctest.Test(t, func(t *testing.T) {
		// The channels of this checker belong to the bubble.
		p.checker = placement.NewChecker(f, p.placer)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { p.checker.Run(ctx, func(types.UID) {}) })
		defer running.Wait()
		defer cancel()
		if exists, err = p.InstanceExists(ctx, node); errors.Is(err, placement.ErrConfirming) {
			synctest.Wait()
			exists, err = p.InstanceExists(ctx, node)
		}
	})
	return exists, err
}

// Delays and limits of package placement.
const (
	searchesAtOnce    = 4
	searchesPerSecond = 10
	confirmationLasts = 15 * time.Second
)

// nobody confirms each absence.
func nobody(context.Context, inventory.Identity) error { return nil }

// gone returns a Node that is not ready and whose VM does not exist.
func gone() *v1.Node { n := running(); silent(n); return n }

// TestNoCallWaitsForAConfirmation: the framework gets its answer at once, and the result of the search after its end.
func TestNoCallWaitsForAConfirmation(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 2 * time.Second, 14 * time.Second} {
		fleet := &fakeFleet{states: states{stateOf("east", newVM(uuidA)), stateOf("west")}}
		fleet.confirm = func(context.Context, inventory.Identity) error { time.Sleep(took); return nil }
		alone(t, fleet, func(c *cluster) {
			fleet.become(stateOf("east"), stateOf("west"))
			started := time.Now()
			asks := 0
			for ; ; asks++ {
				before := time.Now()
				exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1"))
				if time.Since(before) > 0 {
					t.Errorf("it took %v", time.Since(before))
				}
				if exists || err != nil && !errors.Is(err, placement.ErrConfirming) {
					t.Fatalf("InstanceExists during a search = %t, %v, want false and no error but ErrConfirming", exists, err)
				}
				if err == nil {
					break
				}
				c.pass(monitorEvery)
			}
			// The resync has begun the search, without a call of the framework.
			if passed := time.Since(started); passed > took+monitorEvery {
				t.Errorf("a search of %v took %v and %d questions", took, passed, asks)
			}
		}, gone())
	}
}

// TestAFailedSearchIsRepeated with backoff, and the framework gets its error meanwhile.
func TestAFailedSearchIsRepeated(t *testing.T) {
	var searches atomic.Int32
	rejected := fmt.Errorf(`%w: vCenter "west": refused`, topology.ErrUnknown)
	fleet := &fakeFleet{states: states{stateOf("east"), stateOf("west")}}
	fleet.confirm = func(context.Context, inventory.Identity) error { searches.Add(1); return rejected }
	alone(t, fleet, func(c *cluster) {
		for range 120 {
			if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); exists || !errors.Is(err, rejected) {
				t.Errorf("InstanceExists after a failed search = %t, %v, want false and the error %q", exists, err, rejected)
			}
			c.pass(monitorEvery)
		}
		if n := searches.Load(); n < 15 || n > 24 {
			t.Errorf("%d searches in ten minutes", n)
		}
	}, gone())
}

// TestWhatEndsAConfirmation: a confirmation is not valid forever.
func TestWhatEndsAConfirmation(t *testing.T) {
	east, west := stateOf("east"), stateOf("west")
	recorded := func(value string) func(*cluster) {
		return func(c *cluster) {
			n := c.node("node-1").DeepCopy()
			n.Annotations = map[string]string{nodeinfo.KeyVM: value}
			if _, err := c.client.CoreV1().Nodes().Update(c.ctx, n, metav1.UpdateOptions{}); err != nil {
				c.Fatal(err)
			}
		}
	}
	for name, change := range map[string]func(*cluster){
		"a vCenter is added":   func(c *cluster) { c.fleet.become(east, west, stateOf("north")) },
		"a vCenter is removed": func(c *cluster) { c.fleet.become(east) },
		// The vCenter at the other address is read at once.
		"a vCenter gets another address": func(c *cluster) {
			c.fleet.mu.Lock()
			c.fleet.generation++
			c.fleet.mu.Unlock()
		},
		"the VM is back, for a moment": func(c *cluster) {
			c.fleet.become(east, stateOf("west", newVM(uuidA)))
			c.settle()
			c.fleet.become(east, west)
		},
		"a vCenter fails, for a moment": func(c *cluster) {
			c.fleet.become(east, failing(west))
			c.settle()
			c.fleet.become(east, west)
		},
		"the framework hears that the VM is back": func(c *cluster) {
			c.fleet.mu.Lock()
			c.fleet.states = states{east, stateOf("west", newVM(uuidA))}
			c.fleet.mu.Unlock()
			if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); !exists || err != nil {
				c.Errorf("while it is there: %v, %v", exists, err)
			}
			c.fleet.become(east, west)
		},
		"the Node says that it was found elsewhere": recorded("west/vm-7"),
		"the Node is ready, for a moment": func(c *cluster) {
			c.heartbeat("node-1")
			c.pass(2 * gather)
			n := c.node("node-1").DeepCopy()
			silent(n)
			c.updateStatus(n)
		},
		"it is too old": func(c *cluster) { c.pass(confirmationLasts + time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, &fakeFleet{confirm: nobody, states: states{east, west}}, func(c *cluster) {
				exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1"))
				if exists || err != nil {
					t.Fatalf("InstanceExists at first = %t, %v, want false", exists, err)
				}
				// From here on no search ends.
				c.fleet.mu.Lock()
				c.fleet.confirm = func(ctx context.Context, _ inventory.Identity) error { <-ctx.Done(); return ctx.Err() }
				c.fleet.mu.Unlock()
				change(c)
				c.settle()
				if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); exists || !errors.Is(err, placement.ErrConfirming) {
					t.Errorf("InstanceExists after the change = %t, %v, want false and ErrConfirming", exists, err)
				}
			}, gone())
		})
	}
}

// TestASearchUnderWayIsOfNoUse after its premise was contradicted.
func TestASearchUnderWayIsOfNoUse(t *testing.T) {
	east, west := stateOf("east"), stateOf("west")
	for name, change := range map[string]func(*cluster){
		"another configuration": func(c *cluster) { c.fleet.become(east, west, stateOf("north")) },
		"the VM was there": func(c *cluster) {
			c.fleet.become(east, stateOf("west", newVM(uuidA)))
			c.settle()
			c.fleet.become(east, west)
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, later := make(chan struct{}), make(chan struct{})
			var searches atomic.Int32
			fleet := &fakeFleet{states: states{east, west}}
			alone(t, fleet, func(c *cluster) {
				// first and later are created outside of this bubble.
				first, later = make(chan struct{}), make(chan struct{})
				fleet.mu.Lock()
				fleet.confirm = func(ctx context.Context, _ inventory.Identity) error {
					wait := later
					if searches.Add(1) == 1 {
						wait = first
					}
					select {
					case <-wait:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				fleet.mu.Unlock()
				ask := func(want error) {
					t.Helper()
					c.settle()
					if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); exists || !errors.Is(err, want) {
						t.Errorf("%v, %v, want %v", exists, err, want)
					}
				}
				n := c.node("node-1").DeepCopy()
				silent(n)
				c.updateStatus(n)
				c.pass(2 * gather)
				ask(placement.ErrConfirming)
				change(c)
				c.settle()
				close(first)
				ask(placement.ErrConfirming)
				close(later)
				ask(nil)
				if n := searches.Load(); n != 2 {
					t.Errorf("%d searches", n)
				}
			}, running())
		})
	}
}

// TestManyAbsentVMs: at most ten searches begin per second and at most four run, whether they succeed or fail.
func TestManyAbsentVMs(t *testing.T) {
	const many, seconds = 500, 120
	var nodes []*v1.Node
	for i := range many {
		nodes = append(nodes, aNode(fmt.Sprint("node-", i), withProviderID(fmt.Sprintf("vsphere://422e4956-ad22-1139-6d72-00000001%04d", i)), untainted, silent, withRecord("east/vm-1")))
	}
	for name, c := range map[string]struct {
		err  error
		took time.Duration
	}{
		"confirmed":        {nil, 10 * time.Millisecond},
		"confirmed slowly": {nil, 700 * time.Millisecond},
		"failing":          {fmt.Errorf("%w: refused", topology.ErrUnknown), 10 * time.Millisecond},
		"not answered":     {context.DeadlineExceeded, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				began := 0
				now := 0
				p, f := provide(states{stateOf("east")})
				f.confirm = func(ctx context.Context, _ inventory.Identity) error {
					mu.Lock()
					began++
					now++
					if now > searchesAtOnce {
						t.Errorf("%d searches at once", now)
					}
					mu.Unlock()
					time.Sleep(c.took)
					mu.Lock()
					defer mu.Unlock()
					now--
					return c.err
				}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { p.checker.Run(ctx, func(types.UID) {}) })
				deleted := map[string]bool{}
				for range seconds / 5 {
					for _, n := range nodes {
						if exists, err := p.InstanceExists(ctx, n); exists {
							t.Fatal("a VM exists")
						} else if err == nil {
							deleted[n.Name] = true
						}
					}
					time.Sleep(monitorEvery)
				}
				cancel()
				running.Wait()
				if began > searchesPerSecond*(seconds+1) {
					t.Errorf("%d searches began in %d seconds", began, seconds)
				}
				if c.err == nil && len(deleted) != many || c.err != nil && len(deleted) > 0 {
					t.Errorf("%d Nodes may be deleted", len(deleted))
				}
			})
		})
	}
}

// TestNoInstanceDeletes: without a lifecycle controller, searches end.
func TestNoInstanceDeletes(t *testing.T) {
	var searches atomic.Int32
	fleet := &fakeFleet{states: states{stateOf("east")}}
	fleet.confirm = func(context.Context, inventory.Identity) error { searches.Add(1); return nil }
	alone(t, fleet, func(c *cluster) {
		c.pass(time.Hour)
		n := searches.Load()
		if n > 70 {
			t.Errorf("%d searches", n)
		}
		c.pass(time.Hour)
		if again := searches.Load(); again != n {
			t.Errorf("%d more in the second hour", again-n)
		}
		if _, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); !errors.Is(err, placement.ErrConfirming) {
			t.Errorf("asked at last: %v", err)
		}
		c.settle()
		if exists, err := c.provider.InstanceExists(c.ctx, c.node("node-1")); exists || err != nil {
			t.Errorf("InstanceExists after the search = %t, %v, want false", exists, err)
		}
	}, gone())
}
