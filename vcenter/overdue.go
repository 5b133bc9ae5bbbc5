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

// A deadline is the time by which a vCenter has to be read for the first time, or its failure known.
type deadline struct {
	// configuredAt is when the current address was set.
	configuredAt time.Time
}

// remaining returns the time left for a vCenter that last answered at a time, zero if it never did.
func (d deadline) remaining(lastAnswer time.Time) time.Duration {
	silentSince := d.configuredAt
	if lastAnswer.After(silentSince) {
		silentSince = lastAnswer
	}
	return min(time.Until(silentSince.Add(silentTime)), time.Until(d.configuredAt.Add(readTime)))
}

// untilOverdue waits until the vCenter is overdue, or may be. It is nil once the vCenter was read, has failed or
// is overdue.
func (m *monitor) untilOverdue() <-chan time.Time {
	if s := &m.now.state; s.Overdue || s.Snapshot != nil || s.Err != nil {
		return nil
	}
	return time.After(m.overdue.remaining(m.now.endpoint.LastAnswer()))
}

// publishOverdue publishes that the vCenter is overdue, if it is.
func (m *monitor) publishOverdue(ctx context.Context) {
	if m.overdue.remaining(m.now.endpoint.LastAnswer()) > 0 {
		return // an answer has moved the deadline
	}
	m.now.state.Overdue = true
	m.publish(true)
	klog.FromContext(ctx).Info("Reading the vCenter takes long; new Nodes of other vCenters no longer wait for it")
}
