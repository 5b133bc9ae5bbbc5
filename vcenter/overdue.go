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
func (m *monitor) untilOverdue() <-chan time.Time {
	if !m.mayBeOverdue() {
		return nil
	}
	return time.After(m.timeToRead())
}

// mayBeOverdue reports whether the vCenter was neither read nor has failed.
func (m *monitor) mayBeOverdue() bool {
	s := &m.now.state
	return !s.Overdue && s.Snapshot == nil && s.Err == nil
}

// timeToRead returns how long the vCenter may still take.
func (m *monitor) timeToRead() time.Duration {
	answered := m.configured
	if at := m.now.endpoint.LastAnswer(); at.After(m.configured) {
		answered = at
	}
	return min(time.Until(answered.Add(silentTime)), time.Until(m.configured.Add(readTime)))
}

// noteOverdue publishes that the vCenter is overdue, if it is.
func (m *monitor) noteOverdue(ctx context.Context) {
	if m.timeToRead() > 0 {
		return // it has answered meanwhile
	}
	m.now.state.Overdue = true
	m.publish(true)
	klog.FromContext(ctx).Info("Reading the vCenter takes long; new Nodes of other vCenters no longer wait for it")
}
