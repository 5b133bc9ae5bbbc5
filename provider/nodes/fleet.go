package nodes

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/config"
	"vzones/provider/nodecache"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Fleet is what the controller needs of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// Follow says of which machines the details are wanted.
	Follow([]inventory.Identity)
	// Subscribe returns a channel that is notified when a state has changed.
	Subscribe() <-chan struct{}
	// Probe makes a vCenter prove that it answers: its state gets a new LastContact, or an
	// error, and subscribers are notified.
	Probe(vcenter string)
	// ReadTags makes a vCenter read its tags soon, with the names of those that matter.
	// Subscribers are notified then, whatever the result is.
	ReadTags(vcenter string)
	// SearchOutside returns inventory.ErrOutside if a machine that no index has is
	// in none of the configured datacenters. Nil says nothing.
	SearchOutside(context.Context, inventory.Identity) error
}

// placer is what the controller needs of a placement.Placer, whose documentation it shares.
type placer interface {
	NodeCache() *nodecache.Cache
	NodeAdded(*v1.Node)
	NodeUpdated(before, now *v1.Node)
	NodeDeleted(types.UID)
	Forget(types.UID)

	IsForeign(*v1.Node) bool
	Statement(*v1.Node) (inventory.Identity, error)
	IsRefused(types.UID) bool
	TakeRefused(types.UID) bool

	Observe([]inventory.State, *v1.Node) *inventory.Machine
	Join(*v1.Node) (*placement.Decision, error)
	Decide(*v1.Node) *placement.Decision
	Topology() *config.Topology
	InvisibleCategories() map[string][]string
	Tagged() []topology.Tagged
}
