package inventory

import (
	"errors"
	"fmt"
	"time"
)

// A Reading is the period during which a vCenter is read without interruption. During an interruption, the vCenter may
// be restored from a backup, so an absence is not reported before a hold ends (decision 0006).
type Reading struct {
	// Since is zero while the vCenter is not read.
	Since             time.Time
	AfterInterruption bool
}

// ErrHeld is the reason for holding an absence back.
var ErrHeld = errors.New("it may lack VMs, as after a restore from a backup")

// MayMissVM reports whether a restore may hide the VM. It cannot if the first Reading continues and has found the VM.
func (r Reading) MayMissVM(id Identity) bool {
	return r.Since.IsZero() || r.AfterInterruption || !id.Seen
}

// CheckHold returns an error while the absence of a VM is held back.
func (r Reading) CheckHold(id Identity, hold time.Duration) error {
	holdEnd := r.Since.Add(hold)
	switch {
	case !r.MayMissVM(id):
		return nil
	case r.Since.IsZero():
		return fmt.Errorf("it is being read: %w", ErrHeld)
	case time.Until(holdEnd) <= 0:
		return nil
	case r.AfterInterruption:
		return fmt.Errorf("it was unreachable or got a new login: %w: wait until %s (--deletion-hold)", ErrHeld, timeOfDay(holdEnd))
	}
	return fmt.Errorf("it was first read at %s, and the daemon has not seen the VM since: %w: wait until %s (--deletion-hold)", timeOfDay(r.Since), ErrHeld, timeOfDay(holdEnd))
}

func timeOfDay(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
