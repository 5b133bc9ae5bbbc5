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

// heldFor is for how long names serve a Node that waited for them, where they take longer
// to read than the refresh interval.
const heldFor = time.Minute

// namesAgeRunning is how old names may be for a running Node to be written to, if the
// refresh interval is shorter.
const namesAgeRunning = 15 * time.Second

// initial returns what a Node is to be initialized with, which is what is known if the
// names of tags are of lately. Otherwise the second result is the vCenter whose names
// have to be read again: a tag may have been renamed, which no vCenter tells.
func (p *Provider) initial(node *v1.Node) (d *description, vcenter string, err error) {
	d, in, err := p.look(node)
	since := time.Now().Add(-p.namesAge)
	if !p.namesBefore(in, since) {
		return d, "", err
	}
	if err == nil {
		// What was read since it began to wait serves, however slow the vCenter is.
		if !p.namesBefore(in, p.held.since(node.UID)) {
			return d, "", nil
		}
		err = fmt.Errorf("%w: the names of tags in vCenter %q are being read again, since one may have been renamed", topology.ErrUnknown, in.VCenter)
	}
	return nil, in.VCenter, err
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

// held are the Nodes that wait for names to be read, and when each began to.
type held struct {
	mu    sync.Mutex
	nodes map[types.UID]time.Time
}

// since returns when a Node began to wait, which is now if it did not lately.
func (h *held) since(node types.UID) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes == nil {
		h.nodes = map[types.UID]time.Time{}
	}
	began := h.nodes[node]
	if time.Since(began) > heldFor {
		began = time.Now()
		h.nodes[node] = began
	}
	return began
}

func (h *held) forget(node types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.nodes, node)
}
