package vcenter

import (
	"context"
	"errors"
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
	const lacks = "it may lack VMs, as after a restore from a backup"
	until := r.HeldUntil(id, v.absenceHold)
	switch {
	case v.absenceHold == 0:
		return nil
	case r.Since.IsZero():
		return errors.New("it is being read: " + lacks)
	case until.IsZero():
		return nil
	case time.Until(until) > 0 && r.AfterBreak:
		return fmt.Errorf("it was unreachable or logged in to again: %s: wait until %s (--absence-hold)", lacks, clock(until))
	case time.Until(until) > 0:
		return fmt.Errorf("it was first read at %s, and the daemon has not seen the VM since: %s: wait until %s (--absence-hold)", clock(r.Since), lacks, clock(until))
	case r.discovered.Load(), time.Since(r.Since) > hostsHold*v.absenceHold:
		return nil
	}
	host, err := watch.InSlot(ctx, v.slots, func() (string, error) { return watch.DisconnectedHost(ctx, s) })
	switch {
	case err != nil:
		return fmt.Errorf("reading whether its hosts are connected: %w", err)
	case host != "":
		return fmt.Errorf("%s, since host %s is not connected: connect it, remove it from the inventory, or wait for up to %v", lacks, quote.Plain(host), hostsHold*v.absenceHold)
	}
	r.discovered.Store(true)
	return nil
}

// clock returns a time of day for a message.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
