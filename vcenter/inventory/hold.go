package inventory

import (
	"errors"
	"fmt"
	"time"
)

// A Reading is the time during which a vCenter is read without a break. The zero Reading is the one before a
// process has first read the vCenter.
//
// A vCenter that was restored from a backup lacks the VMs that were made since, until it has discovered them.
// An outage, a new session or another address may hide such a restore, and so may the time before this
// process first read the vCenter. So an absence is held back for some time after the reading began.
type Reading struct {
	// Since is when the reading began, zero while the vCenter is not read.
	Since time.Time
	// AfterBreak reports whether a break in this process came before the reading.
	AfterBreak bool
}

// Lacks is the reason to hold an absence back.
const Lacks = "it may lack VMs, as after a restore from a backup"

// MayLack reports whether a restore may hide the VM in this reading, however long ago the reading began. In the
// first reading of a process that has seen the VM, no restore can have hidden the VM since.
func (r Reading) MayLack(id Identity) bool { return r.Since.IsZero() || r.AfterBreak || !id.Seen }

// CheckHold returns why the absence of a VM is held back, nil if the vCenter has been read for long enough.
func (r Reading) CheckHold(id Identity, hold time.Duration) error {
	until := r.Since.Add(hold)
	switch {
	case !r.MayLack(id):
		return nil
	case r.Since.IsZero():
		return errors.New("it is being read: " + Lacks)
	case time.Until(until) <= 0:
		return nil
	case r.AfterBreak:
		return fmt.Errorf("it was unreachable or logged in to again: %s: wait until %s (--absence-hold)", Lacks, clock(until))
	}
	return fmt.Errorf("it was first read at %s, and the daemon has not seen the VM since: %s: wait until %s (--absence-hold)", clock(r.Since), Lacks, clock(until))
}

// clock returns a time of day for a message.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
