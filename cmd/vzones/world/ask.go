package world

import (
	"context"

	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// TryTags asks each vCenter to what the tags of region and zone are attached, and whether tagging
// events can be collected.
func (w *World) TryTags(ctx context.Context) []vcenter.TagTrial {
	return w.fleet.TryTags(ctx, w.Config.Topology.Policy.VolumeCategories())
}

// SearchOutside looks for a machine beyond the configured datacenters, as the daemon does before it
// says that there is none. See vcenter.Fleet.
func (w *World) SearchOutside(ctx context.Context, id inventory.Identity) error {
	return w.fleet.SearchOutside(ctx, id)
}
