package world

import (
	"context"

	"vzones/vcenter/inventory"
)

// Within returns a context for what is asked of vCenters after Open: it ends with --timeout, which began
// when the vCenters were first connected to. If one of them took all of that, the others have a quarter
// of it.
func (w *World) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, w.until)
}

// SearchOutside looks for a machine beyond the configured datacenters, as the daemon does before it
// says that there is none. See vcenter.Fleet.
func (w *World) SearchOutside(ctx context.Context, id inventory.Identity) error {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return w.fleet.SearchOutside(ctx, id)
}
