package provider

import (
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// heldFor is for how long names serve a Node that waited for them, from when they first
// did, where they take longer to read than the refresh interval.
const heldFor = time.Minute

// namesAgeRunning is how old names may be for a running Node to be written to, if the
// refresh interval is shorter.
const namesAgeRunning = 15 * time.Second

// initial returns what a Node is to be initialized with, which is what is known if the
// names of tags were read recently. Otherwise it has them read again, since a tag may have
// been renamed, which no vCenter tells.
func (p *Provider) initial(node *v1.Node) (*description, error) {
	d, in, err := p.look(node)
	since := time.Now().Add(-p.namesAge)
	old := p.namesBefore(in, since)
	if !old || err != nil {
		p.held.forget(node.UID) // it waits for nothing, or for something else
	}
	if !old {
		return d, err
	}
	if err == nil {
		// What was read since it began to wait serves, however slow the vCenter is.
		if !p.namesBefore(in, p.held.since(node.UID)) {
			p.held.serve(node.UID)
			return d, nil
		}
		err = fmt.Errorf("%w: the names of tags in vCenter %q are being read again, since one may have been renamed", topology.ErrUnknown, in.VCenter)
		if down := in.Reach(); down != nil {
			err = fmt.Errorf("%w; it cannot be read now: %w", err, down)
		}
		if unwritten := d.waits(node); unwritten != nil {
			err = unwritten // which it waits for before and after
		}
	}
	p.fleet.ReadTags(in.VCenter)
	return nil, err
}

// namesBefore reports whether the names of tags that the configuration needs were read
// before a time. Where none could be read they were not.
func (p *Provider) namesBefore(in inventory.State, t time.Time) bool {
	categories := p.Topology().Policy.Categories()
	return len(categories) > 0 && !in.Named.At.IsZero() && !in.Named.Since(t, categories)
}

// namesTooOld is namesBefore for the labels of a running Node.
func (p *Provider) namesTooOld(in inventory.State) bool {
	return p.namesBefore(in, time.Now().Add(-max(p.namesAge, namesAgeRunning)))
}

// held are the Nodes that wait for names to be read and for nothing else.
type held struct {
	mu    sync.Mutex
	nodes map[types.UID]hold
}

// hold is when a Node began to wait, and when names first served it, zero if none have.
type hold struct{ began, served time.Time }

// since returns when a Node began to wait, which is now if it did not, or names have
// served it long ago.
func (h *held) since(node types.UID) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes == nil {
		h.nodes = map[types.UID]hold{}
	}
	now := h.nodes[node]
	if now.began.IsZero() || !now.served.IsZero() && time.Since(now.served) > heldFor {
		now = hold{began: time.Now()}
		h.nodes[node] = now
	}
	return now.began
}

// serve notes that names were read since a Node began to wait.
func (h *held) serve(node types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now, ok := h.nodes[node]; ok && now.served.IsZero() {
		now.served = time.Now()
		h.nodes[node] = now
	}
}

func (h *held) forget(node types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.nodes, node)
}
