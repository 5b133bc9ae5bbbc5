package vcenter

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// A vCenter that was never read, and has not failed either, may have a second machine
// of a UUID that another one has, so that Nodes wait for it. These bound that. A
// vCenter that answers is waited for longer than one that does not, which may be hung.
const (
	// silentTime is how long it may answer nothing.
	silentTime = 1500 * time.Millisecond
	// readTime is how long it may take in all. A large one, or a slow one, takes longer
	// now and then.
	readTime = 10 * time.Second
)

// untilOverdue waits until the vCenter is overdue, or may be; it is nil if it cannot be.
func (a *actor) untilOverdue() <-chan time.Time {
	if !a.mayBeOverdue() {
		return nil
	}
	return time.After(a.timeToRead())
}

// mayBeOverdue reports whether the vCenter was neither read nor has failed.
func (a *actor) mayBeOverdue() bool {
	s := &a.now.state
	return !s.Overdue && s.Snapshot == nil && s.Err == nil
}

// timeToRead returns how long the vCenter may still take.
func (a *actor) timeToRead() time.Duration {
	answered := a.configured
	if at := a.now.endpoint.LastAnswer(); at.After(a.configured) {
		answered = at
	}
	return min(time.Until(answered.Add(silentTime)), time.Until(a.configured.Add(readTime)))
}

// noteOverdue publishes that the vCenter is overdue, if it is.
func (a *actor) noteOverdue(ctx context.Context) {
	if a.timeToRead() > 0 {
		return // it has answered meanwhile
	}
	a.now.state.Overdue = true
	a.publish(true)
	klog.FromContext(ctx).Info("Reading the vCenter takes long; new Nodes of other vCenters no longer wait for it")
}
