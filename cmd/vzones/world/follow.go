package world

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"vzones/config"
	"vzones/provider/placement"
	"vzones/vcenter/inventory"
)

// Statements returns what Nodes say of their machines, without those that are not ours or say
// nothing.
func (w *World) Statements(nodes []*v1.Node) []inventory.Identity {
	var all []inventory.Identity
	for _, n := range nodes {
		if w.Placer.IsForeign(n) {
			continue
		}
		if id, err := w.Placer.Statement(n); err == nil {
			all = append(all, id)
		}
	}
	return all
}

// moreTime bounds how long more machines are waited for: one that its vCenter does not let be
// followed never comes.
const moreTime = 5 * time.Second

// FollowAlso has more machines read, and returns once they were.
func (w *World) FollowAlso(ctx context.Context, ids []inventory.Identity) error {
	if len(ids) == 0 {
		return nil
	}
	w.followed = append(w.followed, ids...)
	w.fleet.Follow(w.followed)
	return w.await(ctx, time.Now().Add(moreTime))
}

// PlaceBy returns a placer of Nodes by a configuration and states that nobody has read, such as
// those that a change would lead to.
func PlaceBy(states []inventory.State, cfg *config.Config, nodes []*v1.Node) *placement.Placer {
	p := placement.New(still(states), cfg, placement.Options{})
	p.NodeCache().Watch(informers.NewSharedInformerFactory(nil, 0)) // it is never started
	p.NodeCache().Start()
	fill(p, nodes)
	return p
}

// fill makes these the Nodes in the cache of a placer.
func fill(p *placement.Placer, nodes []*v1.Node) {
	objects := make([]any, len(nodes))
	for i, n := range nodes {
		objects[i] = n
	}
	_ = p.NodeCache().Quiet().GetIndexer().Replace(objects, "") // the key of a Node is its name
}

// still are states that do not change.
type still []inventory.State

// States returns them.
func (s still) States() []inventory.State { return s }

// AskHome does nothing.
func (still) AskHome(string, string) {}

// ReadTags does nothing.
func (still) ReadTags(string) {}
