package placement

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/identity"
	"vzones/provider/nodestate"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// assumed is what this process knows of Nodes beyond what they say, so that of two with one
// machine the right one is first.
type assumed struct {
	mu sync.Mutex
	// preset are the Nodes that, since this process leads, came without the taint or
	// got a provider ID without it: nobody has initialized them.
	preset map[types.UID]bool
	// uuids are the Nodes that were initialized with a machine's UUID a moment ago. They
	// need not show it yet.
	uuids map[inventory.UUID]grant
	ended endings[inventory.UUID]
}

// now returns the moment from which give has to know what ended.
func (a *assumed) now() moment {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended.last
}

// noteCame notes that a Node comes while this process leads.
func (a *assumed) noteCame(n *v1.Node) {
	if nodestate.IsUninitialized(n) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.preset == nil {
		a.preset = map[types.UID]bool{}
	}
	a.preset[n.UID] = true
}

// update notes a change of a Node. Leads reports whether this process leads.
func (a *assumed) update(before, now *v1.Node, leads bool) {
	another := before.UID != now.UID
	if another {
		a.forget(before.UID)
	}
	if leads && (another || !nodestate.IsUninitialized(before) && before.Spec.ProviderID == "" && now.Spec.ProviderID != "") {
		a.noteCame(now)
	}
	a.shown(now)
}

// cameInitialized reports whether a Node came without anybody having initialized it.
func (a *assumed) cameInitialized(node types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.preset[node]
}

// forget ends what is known of a Node that is gone.
func (a *assumed) forget(node types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.preset, node)
	for u, to := range a.uuids {
		if to.node == node {
			delete(a.uuids, u)
		}
	}
}

// give notes that a Node is about to get a machine, unless another one is, as waits reports:
// two that come at the same time may be asked about at the same time. So is one that has got
// it and shows that since the Node's machine was found.
func (a *assumed) give(u inventory.UUID, node *v1.Node, found moment, waits func(types.UID, string) bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	to, ok := a.uuids[u]
	if ok = ok && time.Since(to.at) < assumedFor && waits(to.node, to.name); !ok {
		to, ok = a.ended.since(u, found)
	}
	if ok && to.node != node.UID {
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrShared}, "Node %s was given the machine of Node %s a moment ago: wait, and delete the one that is not this machine's if this lasts", to.name, node.Name)
	}
	if a.uuids == nil {
		a.uuids = map[inventory.UUID]grant{}
	}
	a.uuids[u] = grant{node.UID, node.Name, time.Now()}
	return nil
}

// shown ends what a Node was given that shows it by now.
func (a *assumed) shown(n *v1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.uuids) == 0 || nodestate.IsUninitialized(n) {
		return
	}
	if id, err := identity.ParseProviderID(n.Spec.ProviderID); err == nil && a.uuids[id].node == n.UID {
		a.ended.purge(time.Now())
		a.ended.note(id, a.uuids[id])
		delete(a.uuids, id)
	}
}
