package placement

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/addresses"
	"vzones/topology"
)

// grants are the addresses that Nodes were given and that their status does not show
// yet: of two that ask at the same time for the same address, one gets it.
type grants struct {
	mu     sync.Mutex
	by     map[netip.Addr]grant
	of     map[types.UID][]netip.Addr
	ended  endings[netip.Addr]
	purged time.Time
}

// now returns the moment from which give has to know what ended: a caller takes it before it
// looks at what Nodes show.
func (g *grants) now() moment {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended.last
}

// to returns the name of another Node that was given an address, or nothing.
func (g *grants) to(a netip.Addr, node *v1.Node) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if by, ok := g.by[a]; ok && by.node != node.UID && time.Since(by.at) < assumedFor {
		return by.name
	}
	return ""
}

// give notes that a Node gets addresses, all of them or none: the error says which one
// another Node was given, or was given and has shown since the Node's were chosen.
func (g *grants) give(node *v1.Node, all []v1.NodeAddress, chosen moment) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.purge(now)
	var wanted []netip.Addr
	for _, one := range all {
		a, err := netip.ParseAddr(one.Address)
		if err != nil {
			continue // a host name
		}
		by, ok := g.by[a]
		if !ok || now.Sub(by.at) >= assumedFor {
			by, ok = g.ended.since(a, chosen)
		}
		if ok && by.node != node.UID {
			return topology.Errorf(addresses.ErrClaimed, "Node %s was given the address %s a moment ago: give one of the machines another address", by.name, a)
		}
		wanted = append(wanted, a)
	}
	if g.by == nil {
		g.by, g.of = map[netip.Addr]grant{}, map[types.UID][]netip.Addr{}
	}
	g.end(node.UID) // what it was given before and is not now is free
	g.of[node.UID] = wanted
	for _, a := range wanted {
		g.by[a] = grant{node.UID, node.Name, now}
	}
	return nil
}

// purge ends what was given long ago. The lock is held.
func (g *grants) purge(now time.Time) {
	if now.Sub(g.purged) < assumedFor/4 {
		return
	}
	g.purged = now
	g.ended.purge(now)
	for a, by := range g.by {
		if now.Sub(by.at) >= assumedFor {
			delete(g.by, a)
			delete(g.of, by.node)
		}
	}
}

// shown ends what a Node was given and its status shows by now.
func (g *grants) shown(node *v1.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.of[node.UID]) == 0 {
		return
	}
	claimed := addresses.ClaimedBy(node)
	left := slices.DeleteFunc(g.of[node.UID], func(a netip.Addr) bool {
		if !slices.Contains(claimed, a) {
			return false
		}
		if by := g.by[a]; by.node == node.UID {
			delete(g.by, a)
			g.ended.note(a, by)
		}
		return true
	})
	if g.of[node.UID] = left; len(left) == 0 {
		delete(g.of, node.UID)
	}
}

// forget ends what a Node was given that is gone.
func (g *grants) forget(node types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(node)
}

// end ends all that a Node was given. The lock is held.
func (g *grants) end(node types.UID) {
	for _, a := range g.of[node] {
		if g.by[a].node == node {
			delete(g.by, a)
		}
	}
	delete(g.of, node)
}
