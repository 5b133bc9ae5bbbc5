package provider

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

var interleavings = flag.Int("interleavings", 10_000, "how many random orders TestInterleavings plays; -short plays 300 at most")

// TestInterleavings plays two workers of the framework in random orders of questions, writes and informer updates, for two
// Nodes with one VM and a third Node whose VM has the same address. In every order one Node gets the address and the others
// stay uninitialized. After its deletion the next Node gets it within a second.
func TestInterleavings(t *testing.T) {
	var p *play
	inBubble(t, &fakeFleet{states: states{stateOf("east")}}, nil, func(c *cluster, _ func(func())) {
		p = &play{cluster: c, shows: watch.NewRaceFreeFake()}
		c.client.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) { return true, p.shows, nil })
		announced := cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) {
			if n, ok := now.(*v1.Node); ok && nodeinfo.IsUninitialized(n) {
				p.ask(n.Name)
			}
		}}
		if _, err := c.provider.NodeInformer().Informer().AddEventHandler(announced); err != nil {
			c.Fatal(err)
		}
	}, func(*cluster) {
		orders := *interleavings
		if testing.Short() {
			orders = min(orders, 300)
		}
		for seed := range uint64(orders) {
			if p.run(seed); t.Failed() {
				t.Fatalf("in the order of seed %d", seed)
			}
		}
	})
}

// play is one order. nodes are the Nodes in the API server, behind the changes that the informer has not shown yet.
type play struct {
	*cluster
	*rand.Rand
	shows  *watch.RaceFreeFakeWatcher
	nodes  map[string]*v1.Node
	behind map[string][]watch.Event

	mu   sync.Mutex
	asks map[string]bool
}

func (p *play) ask(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks[name] = true
}

func (p *play) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.asks))
}

func (p *play) run(seed uint64) {
	p.Rand = rand.New(rand.NewPCG(seed, 0))
	p.nodes = map[string]*v1.Node{}
	p.behind = map[string][]watch.Event{}
	p.mu.Lock()
	p.asks = map[string]bool{}
	p.mu.Unlock()
	one, other := fmt.Sprintf("422e4956-ad22-1139-6d72-1%011d", seed), fmt.Sprintf("422e4956-ad22-1139-6d72-2%011d", seed)
	bare := func(m *inventory.VM) { m.HostName, m.Name = "", m.UUID.String() }
	there := stateOf("east", newVM(one, bare), newVM(other, bare))
	if p.IntN(2) == 0 {
		p.fleet.become(there)
	}
	for i, uuid := range []string{one, one, other} {
		n := aNode(fmt.Sprintf("node-%d-%d", seed, i), withSystemUUID(uuid))
		p.writes(watch.Added, n)
	}
	for left := 3; left > 0; left-- {
		p.play()
		p.fleet.become(there)
		p.play()
		var has []string
		for name, n := range p.nodes {
			if !nodeinfo.IsUninitialized(n) {
				has = append(has, name)
			}
		}
		if len(has) != 1 {
			p.Errorf("%d Nodes are left, and %q have the address", left, has)
			return
		}
		gone := p.nodes[has[0]]
		delete(p.nodes, has[0])
		p.behind[has[0]] = append(p.behind[has[0]], watch.Event{Type: watch.Deleted, Object: gone})
	}
	p.play()
}

// writes is a write to the API server.
func (p *play) writes(kind watch.EventType, n *v1.Node) {
	p.nodes[n.Name] = n
	p.behind[n.Name] = append(p.behind[n.Name], watch.Event{Type: kind, Object: n})
}

// play ends once no worker asks and the informer is up to date for a second.
func (p *play) play() {
	for quiet := false; ; {
		p.settle()
		asks := p.asked()
		behind := slices.Sorted(maps.Keys(p.behind))
		steps := len(asks) + len(behind)
		switch {
		case steps == 0 && quiet:
			return
		case steps == 0:
			quiet = true
			p.pass(time.Second)
			continue
		case p.IntN(8) == 0:
			p.pass(gather)
		case p.IntN(8) == 0:
			p.heartbeat()
		default:
			if i := p.IntN(steps); i < len(asks) {
				p.framework(asks[i], asks[p.IntN(len(asks))])
			} else {
				p.show(behind[i-len(asks)])
			}
		}
		quiet = false
	}
}

// heartbeat is a write of a Node's kubelet.
func (p *play) heartbeat() {
	names := slices.Sorted(maps.Keys(p.nodes))
	if len(names) == 0 {
		return
	}
	n := p.nodes[names[p.IntN(len(names))]].DeepCopy()
	n.Annotations = map[string]string{"beat": fmt.Sprint(p.Int())}
	p.writes(watch.Modified, n)
}

// show makes the informer show the next change of a Node.
func (p *play) show(name string) {
	next := p.behind[name][0]
	if p.behind[name] = p.behind[name][1:]; len(p.behind[name]) == 0 {
		delete(p.behind, name)
	}
	p.shows.Action(next.Type, next.Object)
}

// framework runs two workers that ask about one Node each and write the answers. One of eight writes fails and is retried.
func (p *play) framework(names ...string) {
	var asking sync.WaitGroup
	answers := map[string]*v1.Node{}
	for _, name := range slices.Compact(names) {
		p.mu.Lock()
		delete(p.asks, name)
		p.mu.Unlock()
		n, err := p.provider.NodeInformer().Lister().Get(name)
		if err != nil || !nodeinfo.IsUninitialized(n) {
			continue
		}
		asking.Go(func() {
			m, err := p.provider.InstanceMetadata(p.ctx, n)
			if err != nil || m == nil {
				return
			}
			now := n.DeepCopy()
			now.Spec.ProviderID = m.ProviderID
			now.Status.Addresses = m.NodeAddresses
			// The guard's client adds this label.
			now.Labels = map[string]string{nodeinfo.KeyInitialized: "true"}
			p.mu.Lock()
			defer p.mu.Unlock()
			answers[name] = now
		})
	}
	asking.Wait()
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		n := answers[name]
		is := p.nodes[name]
		switch {
		case is == nil || !nodeinfo.IsUninitialized(is):
		case p.IntN(8) == 0:
			p.ask(name)
		default:
			initialized := n.DeepCopy()
			initialized.Spec.Taints = nil
			initialized.Status.Addresses = is.Status.Addresses
			p.writes(watch.Modified, initialized)
			n.Spec.Taints = nil
			p.writes(watch.Modified, n)
		}
	}
}
