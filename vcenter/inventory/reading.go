package inventory

import "time"

// A Reading is the time during which a vCenter is read without a break.
//
// A vCenter that was restored from a backup lacks the VMs that were made since, until it has discovered them.
// An outage, a new session or another address may hide such a restore, and so may the time before this
// process first read the vCenter.
type Reading struct {
	// Since is when the reading began, zero while the vCenter is not read.
	Since time.Time
	// AfterBreak reports whether a break in this process came before the reading.
	AfterBreak bool
}

// HeldUntil returns the time until which the vCenter may lack a VM that exists: hold after the reading began. It
// is zero during the first reading of a process that has seen the VM, because no restore can have hidden the VM
// since.
func (r Reading) HeldUntil(id Identity, hold time.Duration) time.Time {
	if !r.AfterBreak && id.Seen {
		return time.Time{}
	}
	return r.Since.Add(hold)
}
