package world

import (
	"context"

	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// TagUsage asks each vCenter to what the tags of region and zone are attached.
func (w *World) TagUsage(ctx context.Context) []vcenter.TagUsage {
	return w.fleet.TagUsage(ctx, w.Config.Topology.Policy.VolumeCategories())
}

// SearchOutside looks for a machine beyond the configured datacenters, as the daemon does before it
// says that there is none. See vcenter.Fleet.
func (w *World) SearchOutside(ctx context.Context, id inventory.Identity) error {
	return w.fleet.SearchOutside(ctx, id)
}
