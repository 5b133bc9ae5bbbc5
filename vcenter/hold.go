package vcenter

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"vzones/internal/quote"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// hostsHold bounds how long a host that is not connected delays an absence, in multiples of the hold.
const hostsHold = 12

// A reading is one reading of the vCenter, from its first snapshot to the next break.
type reading struct {
	inventory.Reading
	// discovered reports whether all hosts were once connected at the same time since the reading began.
	discovered atomic.Bool
}

// checkHold returns why the vCenter may still lack a VM that exists. If it was restored from a backup, it
// discovers the VMs that were made since under new managed object IDs, once their hosts are connected.
func (v *vCenter) checkHold(ctx context.Context, s *session.Session, r *reading, id inventory.Identity) error {
	if v.absenceHold == 0 {
		return nil
	}
	if err := r.CheckHold(id, v.absenceHold); err != nil {
		return err
	}
	if !r.MayLack(id) || r.discovered.Load() || time.Since(r.Since) > hostsHold*v.absenceHold {
		return nil
	}
	host, err := watch.InSlot(ctx, v.slots, func() (string, error) { return watch.DisconnectedHost(ctx, s) })
	switch {
	case err != nil:
		return fmt.Errorf("reading whether its hosts are connected: %w", err)
	case host != "":
		return fmt.Errorf("%s, since host %s is not connected: connect it, remove it from the inventory, or wait for up to %v",
			inventory.Lacks, quote.Plain(host), hostsHold*v.absenceHold)
	}
	r.discovered.Store(true)
	return nil
}
