package nodes

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/config"
	"vzones/provider/nodecache"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

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
	Initial(*v1.Node) (*placement.Initial, error)
	Place(*v1.Node) (placement.Place, error)
	Describe(*v1.Node) (*placement.Initial, error)
	Topology() *config.Topology
	InvisibleCategories() map[string][]string
	Tagged() []topology.Tagged
}
